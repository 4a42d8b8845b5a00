/**
 * Models' patterns: globs, and JavaScript's regular expressions with features of other dialects.
 */
import { globToRegExp } from "@std/path";
import type { RootedFs } from "../rooted.ts";
import { kindAt } from "./files.ts";

/** POSIX classes, as they stand in brackets. */
const CLASSES: Readonly<Record<string, string>> = {
  alpha: "a-zA-Z",
  digit: "0-9",
  alnum: "a-zA-Z0-9",
  upper: "A-Z",
  lower: "a-z",
  space: "\\s",
  blank: " \\t",
  punct: "!-\\/:-@\\[-`\\{-~",
  xdigit: "0-9A-Fa-f",
  word: "\\w",
  cntrl: "\\x00-\\x1f\\x7f",
  print: "\\x20-\\x7e",
  graph: "\\x21-\\x7e",
};
/** Word boundaries; some models mean the plain characters. */
const WORD_ENDS: Readonly<Record<string, string>> = {
  "\\<": "(?:\\b(?=\\w)|<)",
  "\\>": "(?:\\b(?<=\\w)|>)",
};

/** Translates POSIX classes and word boundaries to JavaScript. */
export function translated(source: string): string {
  let made = "";
  let in_class = false;
  for (let at = 0; at < source.length;) {
    const [named, name] = in_class ? source.slice(at).match(/^\[:(\w+):\]/) ?? [] : [];
    const part = named ?? (source[at] === "\\" ? source.slice(at, at + 2) : source[at]);
    if (name !== undefined) made += Object.hasOwn(CLASSES, name) ? CLASSES[name] : part;
    else made += (in_class ? undefined : WORD_ENDS[part]) ?? part;
    if (part === "[" && !in_class) in_class = true;
    else if (part === "]") in_class = false;
    at += part.length;
  }
  return made;
}

export interface Glob {
  /** Matches paths relative to the start. */
  matchers: RegExp[];
  /** The kind of the path spelled like the glob: `src/[id]` may be a directory. */
  literal?: "file" | "directory";
}

const OPTIONS = { extended: true, globstar: true } as const;

/** Parses a glob. Its first parts also count as names if paths spelled like them exist. */
export function globOf(fs: RootedFs, start: string, pattern: string): Glob {
  const parts = pattern.split("/");
  let at = start;
  let kind: string | undefined;
  let named = 0;
  while (named < parts.length && !/^\*+$/.test(parts[named])) {
    const next = at === "" ? parts[named] : `${at}/${parts[named]}`;
    const found = kindAt(fs, next || ".");
    if (found === undefined) break;
    [at, kind] = [next, found];
    named++;
  }
  const names = parts.slice(0, named);
  const matchers = [globToRegExp(pattern, OPTIONS)];
  if (names.some((name) => /[[\](){}?*+@!\\]/.test(name))) {
    const literal = [...names.map(escaped), ...parts.slice(named)].join("/");
    matchers.push(globToRegExp(literal, OPTIONS));
  }
  const whole = named === parts.length && (kind === "file" || kind === "directory");
  return whole ? { matchers, literal: kind as Glob["literal"] } : { matchers };
}

function escaped(name: string): string {
  return name.replace(/[[\](){}?*+@!\\|^$.]/g, "\\$&");
}
