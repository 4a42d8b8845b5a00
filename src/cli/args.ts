import { parseArgs } from "@std/cli/parse-args";
import { nearestOf } from "../base/nearest.ts";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

export interface FlagSpec {
  /** Long names of flags without a value. */
  boolean?: string[];
  /** Long names of flags with a value. */
  string?: string[];
  /** Short name → long name. */
  alias?: Record<string, string>;
}

export interface Flags {
  /** Arguments that are not flags. */
  rest: string[];
  boolean: Record<string, boolean | undefined>;
  string: Record<string, string | undefined>;
}

/**
 * Parses a command's arguments; `--help` is always known.
 *
 * @throws {UsageError} for an unknown flag, naming the nearest known one, or a value that is missing.
 */
export function parseFlags(argv: string[], spec: FlagSpec): Flags {
  const boolean = [...(spec.boolean ?? []), "help"];
  const string = spec.string ?? [];
  const alias: Record<string, string> = { h: "help", ...spec.alias };
  const parsed = parseArgs(argv, {
    boolean,
    string,
    alias,
    unknown(arg, key) {
      if (key === undefined || !arg.startsWith("-")) return true;
      const nearest = nearestOf(key, [...boolean, ...string]);
      const hint = nearest ? `; did you mean --${nearest}?` : "";
      throw new UsageError(`unknown flag ${arg}${hint}`);
    },
  });
  for (const name of string) {
    if (parsed[name] === "") throw new UsageError(`--${name} needs a value`);
    if (Array.isArray(parsed[name])) throw new UsageError(`--${name} is given twice`);
  }
  return {
    rest: parsed._.map(String),
    boolean: Object.fromEntries(boolean.map((name) => [name, parsed[name]])),
    string: Object.fromEntries(string.map((name) => [name, parsed[name]])),
  };
}
