/** Manual pages, made from the table of commands. */
import type { Command } from "../src/cli/spec.ts";
import { type Manual, manualOf } from "../src/cli/help.ts";

export interface ManualOptions {
  version: string;
  date: Date;
}

/** Returns a page for a command and each command below it, by file name. @param path its words. */
export function manualPages(
  path: string,
  command: Command,
  options: ManualOptions,
): Record<string, string> {
  const all = commandsOf(path, command);
  const names = all.map(([path]) => pageName(path));
  return Object.fromEntries(
    all.map(([path, command]) => [
      `${pageName(path)}.1`,
      manualPage(path, command, { ...options, pages: names.filter((it) => isNear(it, path)) }),
    ]),
  );
}

function commandsOf(path: string, command: Command): [string, Command][] {
  if (command.former) return [];
  const below = Object.entries(command.commands ?? {});
  return [[path, command], ...below.flatMap(([name, it]) => commandsOf(`${path} ${name}`, it))];
}

/** Whether a page is the parent or a child of a command. */
function isNear(page: string, path: string): boolean {
  const own = pageName(path);
  const parent = pageName(path.split(" ").slice(0, -1).join(" "));
  return page === parent || (page.startsWith(`${own}-`) && page !== own);
}

/** Returns a page in the man(7) macros. @param options with the pages to refer to. */
export function manualPage(
  path: string,
  command: Command,
  { version, date, pages }: ManualOptions & { pages: readonly string[] },
): string {
  const page = pageName(path);
  const { summary, about, usage, lists, examples, notes } = manualOf(path, command);
  const day = date.toISOString().slice(0, 10);
  return [
    `.TH ${roff(page.toUpperCase())} 1 ${day} "svc ${version}" "User Commands"`,
    ".SH NAME",
    `${roff(page)} \\- ${roff(lowered(summary))}`,
    ".SH SYNOPSIS",
    ...usage.flatMap((line, n) => [...(n > 0 ? [".br"] : []), roff(line)]),
    ".SH DESCRIPTION",
    ...paragraphs([`${summary}.`, ...about, ...notes]),
    ...lists.flatMap(section),
    ...(examples.length > 0 ? [".SH EXAMPLES", ...examples.flatMap(example)] : []),
    ...(pages.length > 0
      ? [".SH SEE ALSO", pages.map((it) => `.BR ${roff(it)} (1)`).join(" ,\n")]
      : []),
  ].join("\n") + "\n";
}

/** The page of a command: `svc-chat` of `svc chat`. */
export function pageName(path: string): string {
  return path.replaceAll(" ", "-");
}

function section({ heading, rows }: Manual["lists"][number]): string[] {
  return [
    `.SH ${heading.toUpperCase()}`,
    ...rows.flatMap(({ term, help }) => [".TP", `.B ${roff(term.trim())}`, roff(help)]),
  ];
}

function example([line, help]: readonly [string, string]): string[] {
  return [".TP", `.B ${roff(line)}`, roff(`${help}.`)];
}

function paragraphs(texts: readonly string[]): string[] {
  return texts.flatMap((text, n) => [...(n > 0 ? [".PP"] : []), ...text.split("\n").map(roff)]);
}

function lowered(summary: string): string {
  return summary.charAt(0).toLowerCase() + summary.slice(1);
}

/** Escapes what roff would interpret: backslashes, hyphens, and a line's first dot or quote. */
function roff(line: string): string {
  return line.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^[.']/, "\\&$&");
}
