/** The word before the cursor that a menu completes. Must import nothing: the web app uses it. */

export interface Token {
  kind: "file" | "command";
  /** Where it begins in the text, with its mark. */
  start: number;
  end: number;
  /** What stands after the mark. */
  query: string;
}

/** A word of `@` and a path; not within another word, as in an address of mail. */
const FILE = /(?:^|[\s("'`[{])@(?:"([^"\n]*)|([^\s"@<>]*))$/;

/** A longer word is completed by nobody. */
const NEAR = 1_000;

/** Returns the word that is being written: a command at the beginning of a message, or a file. */
export function tokenAt(text: string, end: number): Token | undefined {
  const from = Math.max(end - NEAR, 0);
  const before = text.slice(from, end);
  const [command] = from > 0 ? [] : /^\/[^\s/]*$/.exec(before) ?? [];
  if (command !== undefined) return { kind: "command", start: 0, end, query: command.slice(1) };
  const found = FILE.exec(before);
  if (found === null) return undefined;
  const start = from + found.index + found[0].indexOf("@");
  return { kind: "file", start, end, query: found[1] ?? found[2] };
}

/** What cannot stand in a word after `@`: quotes, ends of lines, and what turns text around. */
const NOT_WRITTEN = /["\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** A path as it is written after `@`; undefined for one that would be read as something else. */
export function mentionOf(path: string): string | undefined {
  if (NOT_WRITTEN.test(path)) return undefined;
  const named = /\s/.test(path) ? `@"${path}"` : `@${path}`;
  // A directory goes on.
  return path.endsWith("/") && !named.endsWith('"') ? named : `${named} `;
}
