/** The text of `--help`, made from the table of commands. */
import { named } from "./own_name.ts";
import type { Argument, Command, Flag } from "./spec.ts";

const WIDTH = 100;
/** Maximum width of the left column; longer terms have their explanation on the next line. */
const COLUMN_MAX = 30;
const INDENT = "  ";

export interface Row {
  term: string;
  help: string;
}

/** The parts of a command's help. */
export interface Manual {
  summary: string;
  about: string[];
  usage: string[];
  lists: { heading: string; rows: Row[] }[];
  examples: readonly (readonly [string, string])[];
  notes: string[];
}

/**
 * Returns the help of a command as text.
 *
 * @param path its words, such as `svc chat`.
 * @param name how the reader runs svc.
 */
export function helpText(path: string, command: Command, name = "svc"): string {
  const { summary, about, usage, lists, examples, notes } = manualOf(path, command);
  const runs = (line: string) => line.replace(/(?<![\w./-])svc(?= )/g, () => name);
  const paragraph = (text: string) => wrapped(named(text, () => name), WIDTH).join("\n");
  const example_lines = examples.flatMap(([line, help]) => [INDENT + line, INDENT + INDENT + help]);
  const width = Math.min(
    COLUMN_MAX,
    Math.max(...lists.flatMap(({ rows }) => rows.map(({ term }) => term.length)), 0),
  );
  return [
    `${summary}.`,
    ...about.map(paragraph),
    usage.map((line, n) => `${n === 0 ? "Usage: " : "       "}${runs(line)}`).join("\n"),
    ...lists.map(({ heading, rows }) =>
      [`${heading}:`, ...rows.map((row) => rowText(row, width))].join("\n")
    ),
    ...(examples.length > 0 ? [["Examples:", ...example_lines.map(runs)].join("\n")] : []),
    ...notes.map(paragraph),
  ].join("\n\n");
}

/** Collects the help of a command. */
export function manualOf(path: string, { spec, commands = {}, load }: Command): Manual {
  const below = path.includes(" ") ? leaves(commands, "") : listed(commands);
  const rows = below.map(({ path: words, command }) => ({
    term: `${words}${argumentsOf(command.spec.args)}`,
    help: command.spec.summary,
  }));
  return {
    summary: spec.summary,
    about: paragraphs(spec.about),
    usage: [
      ...(load === undefined ? [] : [usageLine(path, spec)]),
      ...(below.length === 0 ? [] : [`${path} <command> [options]`]),
    ],
    lists: [
      { heading: "Commands", rows },
      { heading: "Arguments", rows: Object.entries(spec.args).map(argumentRow) },
      ...flagLists(spec.flags),
    ].filter(({ rows }) => rows.length > 0),
    examples: spec.examples ?? [],
    notes: paragraphs(spec.notes),
  };
}

/** Returns the listed commands below others, with the words that lead there. */
export function leaves(
  commands: Readonly<Record<string, Command>>,
  path: string,
): { path: string; command: Command }[] {
  return Object.entries(commands).flatMap(([name, command]) => {
    const here = { path: `${path} ${name}`.trim(), command };
    const below = command.former ? [] : leaves(command.commands ?? {}, here.path);
    return command.load || command.alias ? [here, ...below] : below;
  });
}

function listed(commands: Readonly<Record<string, Command>>): ReturnType<typeof leaves> {
  return Object.entries(commands).filter(([, { former }]) => !former)
    .map(([path, command]) => ({
      path,
      command: { ...command, spec: { ...command.spec, args: {} } },
    }));
}

function usageLine(path: string, { args, flags }: Command["spec"]): string {
  const options = Object.values(flags).some(({ hidden }) => !hidden) ? " [options]" : "";
  return `${path}${options}${argumentsOf(args)}`;
}

function argumentsOf(args: Readonly<Record<string, Argument>>): string {
  return Object.entries(args).map((entry) => ` ${argumentTerm(entry)}`).join("");
}

function argumentTerm([name, { required, rest }]: [string, Argument]): string {
  const term = required ? `<${name}>` : `[${name}]`;
  return rest ? `${term}...` : term;
}

function argumentRow(entry: [string, Argument]): Row {
  const [, { help, type, default: fallback }] = entry;
  return { term: argumentTerm(entry), help: explained(help, type.listed && type.values, fallback) };
}

function flagLists(flags: Readonly<Record<string, Flag>>): Manual["lists"] {
  const listed = Object.entries(flags).filter(([, { hidden }]) => !hidden);
  const headings = new Set(["Options", ...listed.map(([, it]) => it.group ?? "Options")]);
  return [...headings].map((heading) => ({
    heading,
    rows: [
      ...listed.filter(([, it]) => (it.group ?? "Options") === heading).map(flagRow),
      ...(heading === "Options" ? [{ term: "-h, --help", help: "Show this help" }] : []),
    ],
  }));
}

function flagRow([name, flag]: [string, Flag]): Row {
  const short = flag.short === undefined ? "    " : `-${flag.short}, `;
  if (flag.kind === "switch") return { term: `${short}--${name}`, help: flag.help };
  const { type, value, help, default: fallback } = flag;
  return {
    term: `${short}--${name} <${value}>`,
    help: explained(help, type.listed && type.values, fallback),
  };
}

function explained(
  help: string,
  values: readonly string[] | false | undefined,
  fallback: string | undefined,
): string {
  return [
    help,
    ...(values ? [`[values: ${values.join(", ")}]`] : []),
    ...(fallback === undefined ? [] : [`[default: ${fallback}]`]),
  ].join(" ");
}

function rowText({ term, help }: Row, width: number): string {
  const column = INDENT.length + width + 2;
  const lines = wrapped(help, WIDTH - column);
  const rest = lines.map((line) => " ".repeat(column) + line);
  if (term.length > width) return [INDENT + term, ...rest].join("\n");
  return [(INDENT + term).padEnd(column) + lines[0], ...rest.slice(1)].join("\n");
}

function paragraphs(text = ""): string[] {
  return text.split(/\n{2,}/).map((it) => it.trim()).filter((it) => it !== "");
}

/** Breaks plain text between words. wrap-ansi knows more scripts, but takes 30 ms to load. */
function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines[lines.length - 1];
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}
