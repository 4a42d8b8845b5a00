/** Parses `daemon.toml`; loaded only if the file exists. */
import { parse, TomlError } from "smol-toml";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { misfit } from "../os/operator_file.ts";
import { type Config, configOf } from "./config.ts";
import { OWN } from "./own_keys.ts";
import type { Section } from "./section.ts";

/**
 * Parses a `daemon.toml`.
 *
 * @param path for errors
 * @throws {SvcError} validation, with file, line, key and the nearest known key
 */
export function parseConfig(
  text: string,
  path: string,
  sections: readonly Section[],
): Config {
  let table: Record<string, unknown>;
  try {
    table = parse(text);
  } catch (error) {
    throw syntaxError(error, text, path);
  }
  const tables = sections.map(({ name, schema }) => [name, schema()]);
  const schema = OWN.extend(Object.fromEntries(tables));
  const parsed = schema.safeParse(table);
  if (parsed.success) {
    const own = OWN.strip().parse(table);
    const read = sections.filter(({ name }) => Object.hasOwn(table, name))
      .map(({ name }) => [name, (parsed.data as Record<string, unknown>)[name]]);
    return configOf(own, Object.fromEntries(read));
  }
  throw misfit({
    path,
    schema,
    error: parsed.error,
    lineOf: (keys) => lineOf(text, keys),
  });
}

/** The parser's error with file, line and, for a duplicate, the key. */
function syntaxError(error: unknown, text: string, path: string): SvcError {
  if (!(error instanceof TomlError)) {
    return new SvcError("validation", `${path}: ${messageOf(error)}`);
  }
  const { line, column } = error;
  // Only the first line: the rest shows the place, as the line number does.
  const [said] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
  if (!/redefine an already defined/.test(said)) {
    return new SvcError("validation", `${path}:${line}: ${said}`, {
      hint: "correct the line; https://toml.io describes the format",
    });
  }
  const keys = keysAt(text, line, column);
  const first = lineOf(text, keys);
  const where = first < line ? `, first on line ${first}` : "";
  const message = `${keys.join(".")}: is set twice${where}`;
  return new SvcError("validation", `${path}:${line}: ${message}`, {
    hint: "remove one of them",
    details: { issues: [{ path: keys, message }] },
  });
}

/** The key at a position, with its table. */
function keysAt(text: string, line: number, column: number): string[] {
  let keys: string[] = [];
  for (const [n, { table, set }] of settings(text).entries()) {
    if (n + 1 < line) continue;
    const rest = text.split("\n")[line - 1].slice(column - 1);
    const inline = splitKey(rest.match(/^[^={}\],]+/)?.[0] ?? "");
    keys = set === undefined ? table : [...table, ...set];
    // A key in an inline table.
    if (set !== undefined && inline.join("\0") !== set.join("\0")) keys = [...keys, ...inline];
    break;
  }
  return keys;
}

/** The line of a key or else of its table; 1 if neither is found. */
function lineOf(text: string, keys: readonly string[]): number {
  const wanted = keys.filter((key) => !/^\d+$/.test(key));
  const lines = settings(text).map(({ table, set, header }) =>
    set ? [...table, ...set] : header ? table : []
  );
  for (let length = wanted.length; length > 0; length--) {
    const sought = wanted.slice(0, length).join("\0");
    const n = lines.findIndex((here) => here.length > 0 && here.join("\0") === sought);
    if (n >= 0) return n + 1;
  }
  return 1;
}

/** For each line, its table and the key that it sets. */
function settings(text: string): { table: string[]; set?: string[]; header: boolean }[] {
  let table: string[] = [];
  return text.split("\n").map((line) => {
    const header = line.match(/^\s*\[+\s*([^\]]+?)\s*\]+/);
    if (header) table = splitKey(header[1]);
    const assignment = line.match(/^\s*([^=#[\]]+?)\s*=/);
    return {
      table,
      set: assignment ? splitKey(assignment[1]) : undefined,
      header: header !== null,
    };
  });
}

function splitKey(key: string): string[] {
  return [...key.matchAll(/"([^"]*)"|'([^']*)'|([^.\s]+)/g)].map((it) => it[1] ?? it[2] ?? it[3]);
}
