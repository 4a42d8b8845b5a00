/** Patterns of models: JavaScript's regular expressions with what others know, and globs. */
import { globToRegExp } from "@std/path";
import { RootedError, type RootedFs } from "../rooted.ts";

/** The classes of POSIX, as they stand in brackets. */
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
/** The beginning and the end of a word; some write them for the characters themselves. */
const WORD_ENDS: Readonly<Record<string, string>> = {
  "\\<": "(?:\\b(?=\\w)|<)",
  "\\>": "(?:\\b(?<=\\w)|>)",
};

/** The source of a regular expression with classes of POSIX and ends of words in JavaScript. */
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

/** A glob as it is searched for. */
export interface Glob {
  /** Matches paths relative to the start. */
  matchers: RegExp[];
  /** What it names as it stands: `src/[id]` is a glob, and can be a directory. */
  literal?: "file" | "directory";
}

const OPTIONS = { extended: true, globstar: true } as const;

/** Reads a glob. The parts at its beginning that are there as they stand are names as well. */
export function globOf(fs: RootedFs, start: string, pattern: string): Glob {
  const parts = pattern.split("/");
  let at = start;
  let kind: string | undefined;
  let named = 0;
  while (named < parts.length && !/^\*+$/.test(parts[named])) {
    const next = at === "" ? parts[named] : `${at}/${parts[named]}`;
    const found = kindOf(fs, next);
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

function kindOf(fs: RootedFs, path: string): string | undefined {
  try {
    return fs.stat(path || ".").kind;
  } catch (error) {
    if (error instanceof RootedError) return undefined;
    throw error;
  }
}
