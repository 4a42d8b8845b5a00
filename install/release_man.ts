/** Manual pages, made from what the commands say by `--help`. */

export interface ManualCommand {
  /** `svc` or `svc chat`. */
  name: string;
  summary: string;
  /** What `--help` prints. */
  help: string;
}

export interface ManualOptions {
  version: string;
  date: Date;
  /** Every page's name, for the references from one to the others. */
  pages: readonly string[];
}

/**
 * Writes a page in the man(7) macros.
 *
 * A help is paragraphs: those before `Usage:` describe, that one is the synopsis, the others explain
 * flags (indented) or go on describing.
 */
export function manualPage(command: ManualCommand, options: ManualOptions): string {
  const { name, summary, help } = command;
  const { version, date, pages } = options;
  const page = pageName(name);
  const paragraphs = help.trim().split(/\n{2,}/);
  const usage = paragraphs.findIndex((it) => it.startsWith("Usage:"));
  const before = paragraphs.slice(0, Math.max(usage, 0));
  const synopsis = paragraphs[usage]?.replace(/^Usage:/, "      ") ?? `       ${name}`;
  const after = paragraphs.slice(usage + 1);
  const others = pages.filter((it) => it !== page);
  return [
    `.TH ${page.toUpperCase()} 1 ${
      date.toISOString().slice(0, 10)
    } "svc ${version}" "User Commands"`,
    ".SH NAME",
    `${roff(page)} \\- ${roff(summary)}`,
    ".SH SYNOPSIS",
    ...literal(outdented(synopsis)),
    ".SH DESCRIPTION",
    ...before.concat(after).flatMap((it, n) => [...(n > 0 ? [".PP"] : []), ...paragraph(it)]),
    ".SH SEE ALSO",
    others.map((it) => `.BR ${roff(it)} (1)`).join(" ,\n"),
  ].join("\n") + "\n";
}

/** The page of a command: `svc-chat` of `svc chat`. */
export function pageName(command: string): string {
  return command.replaceAll(" ", "-");
}

/** An indented paragraph is a table or an example: it stays as it is. */
function paragraph(text: string): string[] {
  return /^ {2}/m.test(text) ? literal(text.split("\n")) : text.split("\n").map(roff);
}

function literal(lines: readonly string[]): string[] {
  return [".nf", ...lines.map(roff), ".fi"];
}

function outdented(text: string): string[] {
  const lines = text.split("\n");
  const depth = Math.min(...lines.map((line) => line.search(/\S/)).filter((it) => it >= 0));
  return lines.map((line) => line.slice(depth));
}

/** Escapes what roff would read as its own: backslashes, hyphens, and a line's first dot or quote. */
function roff(line: string): string {
  return line.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^[.']/, "\\&$&");
}
