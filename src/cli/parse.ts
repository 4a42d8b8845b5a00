import { parseArgs } from "@std/cli/parse-args";
import { nearestOf } from "../base/nearest.ts";
import { UsageError } from "./define.ts";
import type { Command, Flag, Input, Spec } from "./spec.ts";

export interface Parsed {
  command: Command;
  /** The words that name the command, such as `svc ctl sessions list`. */
  path: string;
  /** What to run the command with; missing with `--help`, or for a group. */
  input?: Input<Spec>;
  help: boolean;
}

/**
 * Finds a command below another one and reads its flags and arguments. Flags may stand anywhere
 * after the first word: `svc ctl --json sessions list` works.
 *
 * @param path the words that name `command`.
 * @throws {UsageError} for an unknown flag or command, and for missing or wrong values.
 */
export function parse(command: Command, path: string, argv: readonly string[]): Parsed {
  const [first, ...others] = argv;
  const { commands = {} } = command;
  // Reading the flags of one command takes a fraction of the time.
  if (first !== undefined && Object.hasOwn(commands, first)) {
    return parse(commands[first], `${path} ${first}`, others);
  }
  const flags = flagsBelow(command);
  const names = Object.keys(flags);
  const string = names.filter((name) => flags[name].kind === "option");
  const unknown: string[] = [];
  const parsed = parseArgs(withDashes(argv, string), {
    boolean: ["help", ...names.filter((name) => flags[name].kind === "switch")],
    // Without "_" an argument such as 1e3 would become a number.
    string: ["_", ...string],
    collect: string,
    alias: { h: "help", ...shortNames(flags) },
    "--": true,
    unknown(arg, key) {
      if (key === undefined || !arg.startsWith("-") || arg === "-") return true;
      unknown.push(arg.split("=", 1)[0]);
    },
  });
  const found = descend(command, path, parsed._.map(String));
  const { spec } = found.command;
  if (parsed.help) return { ...found, help: true };
  const given = names.filter((name) => isGiven(parsed[name]));
  const strange = unknown[0] ??
    given.map((it) => `--${it}`).find((it) => !(it.slice(2) in spec.flags));
  if (strange !== undefined) throw unknownFlag(strange, found.path, spec);
  const [word] = found.rest;
  if (word !== undefined && found.command.commands && Object.keys(spec.args).length === 0) {
    throw unknownCommand(found.path, word, found.command.commands);
  }
  if (found.command.load === undefined) return { ...found, help: false };
  const words = [...found.rest, ...(parsed["--"] ?? [])];
  return {
    ...found,
    help: false,
    input: {
      flags: Object.fromEntries(
        Object.entries(spec.flags).map(([name, flag]) => [
          name,
          flagValue(name, flag, parsed[name], found.path),
        ]),
      ),
      args: argumentValues(spec, words, found.path),
      given,
    },
  };
}

/** Joins `--flag -` to `--flag=-`: parseArgs takes a dash after a long name for another flag. */
function withDashes(argv: readonly string[], options: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of argv) {
    const last = joined.at(-1);
    const belongs = arg === "-" && last?.startsWith("--") && options.includes(last.slice(2)) &&
      !joined.includes("--");
    if (belongs) joined[joined.length - 1] = `${last}=-`;
    else joined.push(arg);
  }
  return joined;
}

interface Found {
  command: Command;
  path: string;
  rest: string[];
}

function descend(command: Command, path: string, rest: string[]): Found {
  const [word, ...more] = rest;
  const { commands = {} } = command;
  const below = word !== undefined && Object.hasOwn(commands, word) ? commands[word] : undefined;
  return below === undefined ? { command, path, rest } : descend(below, `${path} ${word}`, more);
}

function flagsBelow({ spec, commands = {} }: Command): Record<string, Flag> {
  return Object.assign({}, ...Object.values(commands).map(flagsBelow), spec.flags);
}

function shortNames(flags: Record<string, Flag>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(flags).flatMap(([name, { short }]) =>
      short === undefined ? [] : [[short, name]]
    ),
  );
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value === true;
}

/** Returns the error for an unknown command. */
export function unknownCommand(
  path: string,
  word: string,
  commands: Readonly<Record<string, Command>>,
): UsageError {
  const known = Object.keys(commands).filter((name) => !commands[name].former);
  const nearest = nearestOf(word, known);
  return new UsageError(
    `unknown command "${path} ${word}"`,
    nearest ? `did you mean "${path} ${nearest}"?` : `\`${path} --help\` lists the commands`,
  );
}

function unknownFlag(arg: string, path: string, { flags }: Spec): UsageError {
  const name = arg.replace(/^-+/, "").replace(/=.*$/s, "");
  const known = Object.keys(flags).filter((it) => !flags[it].hidden);
  const nearest = nearestOf(name, [...known, "help"]);
  return new UsageError(
    `unknown flag ${arg.replace(/=.*$/s, "")} for \`${path}\``,
    nearest ? `did you mean --${nearest}?` : `\`${path} --help\` lists the flags`,
  );
}

function flagValue(name: string, flag: Flag, given: unknown, path: string): unknown {
  if (flag.kind === "switch") return given === true;
  const values = given as string[] | undefined ?? [];
  if (flag.repeats && !values.includes("")) {
    return values.map((text) => valueOf(flag, text, `--${name}`, path));
  }
  if (values.length > 1) throw new UsageError(`--${name} was given more than once`);
  const text = values[0] ?? flag.default;
  if (text === "") {
    throw new UsageError(`--${name} needs a value: --${name} <${flag.value}>`, help(path));
  }
  return text === undefined ? undefined : valueOf(flag, text, `--${name}`, path);
}

function argumentValues(
  { args }: Spec,
  words: readonly string[],
  path: string,
): Record<string, unknown> {
  const rest = [...words];
  const values: Record<string, unknown> = {};
  for (const [name, argument] of Object.entries(args)) {
    const text = (argument.rest ? rest.splice(0).join(" ") : rest.shift()) || argument.default;
    if (text === undefined) {
      if (argument.required) throw new UsageError(`<${name}> is missing`, help(path));
      continue;
    }
    values[name] = valueOf(argument, text, `<${name}>`, path);
  }
  if (rest.length > 0) throw new UsageError(`unexpected argument "${rest[0]}"`, help(path));
  return values;
}

function valueOf(
  { type }: Pick<Exclude<Flag, { kind: "switch" }>, "type">,
  text: string,
  where: string,
  path: string,
): unknown {
  const value = type.parse(text);
  if (value !== undefined) return value;
  const nearest = type.nearest?.(text);
  throw new UsageError(
    `invalid value "${text}" for ${where}: expected ${type.expects}`,
    nearest ? `did you mean "${nearest}"?` : help(path),
  );
}

function help(path: string): string {
  return `\`${path} --help\` shows the usage`;
}
