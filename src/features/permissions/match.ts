/** Matches calls with the patterns of rules. */
import { baseName, type Command, type Commands, type Possible } from "./programs.ts";
import { globMatches, parseUrlPattern, type Rule, subjectOf } from "./rule.ts";
import type { Word } from "./shell.ts";

/** `maybe`: nobody can tell before the call runs. */
export type Fit = "yes" | "maybe" | "no";

const patterns = (pattern: string) => pattern.split(/\s+/);

/** Reports whether a pattern allows a command: every word fits, and nothing is uncertain. */
export function allowsCommand(pattern: string, { words, assignments, guarded }: Command): boolean {
  const wanted = patterns(pattern);
  let at = 0;
  for (const [n, want] of wanted.entries()) {
    const last = n === wanted.length - 1;
    const open = last && want.endsWith("*");
    if (open && want === "*" && n > 0) return coversRest(words, guarded, at, assignments);
    const word = words[at];
    if (word === undefined || word.dynamic) return false;
    if (want.includes("*")) {
      if (guarded.has(at) || !globMatches(want, word.text)) return false;
    } else if (want !== word.text) return false;
    at++;
    if (open) return coversRest(words, guarded, at, assignments);
  }
  return at === words.length;
}

function coversRest(
  words: Word[],
  guarded: Set<number>,
  from: number,
  assignments: number,
): boolean {
  if (from <= assignments) return false;
  for (let n = from; n < words.length; n++) if (guarded.has(n)) return false;
  return true;
}

/**
 * Matches a deny or ask pattern with the start of a command. The program's directory and options
 * before a word of the pattern do not count.
 */
function fitsCommand(pattern: string, { words }: Possible): Fit {
  const wanted = patterns(pattern);
  const [program, ...others] = wanted;
  const [first] = words;
  if (first.dynamic) return "maybe";
  const name = program.includes("/") ? first.text : baseName(first.text);
  if (!globMatches(program.toLowerCase(), name.toLowerCase())) return "no";
  let at = 1;
  let skip = false;
  for (const [n, want] of others.entries()) {
    if (want === "*" && n === others.length - 1) return "yes";
    for (;; at++) {
      const word = words[at];
      if (word === undefined) return "no";
      if (word.dynamic) return "maybe";
      if (globMatches(want, word.text)) break;
      const is_option = word.text.startsWith("-");
      // It may be the value of the option.
      if (!is_option && !skip && want !== "*") return "no";
      skip = is_option && !word.text.includes("=");
    }
    at++;
    skip = false;
  }
  return "yes";
}

/** Matches a deny or ask rule with a line; `part` is the deciding command. */
export function fitsLine(
  { pattern, exact }: Rule,
  line: string,
  commands: () => Commands,
): { fit: Fit; part?: string; why?: string } {
  if (exact !== undefined) return { fit: exact === line ? "yes" : "no" };
  if (pattern === undefined) return { fit: "yes" };
  const { possible, blind } = commands();
  let maybe: Possible | undefined;
  for (const each of possible) {
    const fit = fitsCommand(pattern, each);
    if (fit === "yes") return { fit, part: each.source };
    if (fit === "maybe") maybe ??= each;
  }
  if (pattern.startsWith("*") && globMatches(pattern, line)) return { fit: "yes" };
  if (maybe !== undefined) {
    return { fit: "maybe", part: maybe.source, why: "only the shell knows all of its words" };
  }
  return blind === undefined ? { fit: "no" } : { fit: "maybe", why: blind };
}

// ── paths ────────────────────────────────────────────────────────────────────────────────────────

export interface CallPath {
  /** Relative to the session's directory, with `/`; undefined for a path that leads out. */
  inside?: string;
  /** The path after links, if it is inside. */
  real?: string;
  /** Both are relative to a directory that was added to the session, where no pattern allows. */
  added?: true;
}

/** Reports whether a pattern fits a path; `**` stands for any number of directories. */
function pathMatches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const parts = path === "" ? [] : path.split("/");
  let at = 0;
  let n = 0;
  let star = -1;
  let star_at = 0;
  while (at < parts.length) {
    if (n < wanted.length && wanted[n] !== "**" && globMatches(wanted[n], parts[at])) {
      n++;
      at++;
    } else if (wanted[n] === "**") {
      star = n++;
      star_at = at;
    } else if (star >= 0) {
      n = star + 1;
      at = ++star_at;
    } else return false;
  }
  while (wanted[n] === "**") n++;
  return n === wanted.length;
}

/** Reports whether a pattern allows a path, both as written and after links. */
export function allowsPath(pattern: string, { inside, real, added }: CallPath): boolean {
  if (added || inside === undefined || real === undefined) return false;
  return pathMatches(pattern, inside) && pathMatches(pattern, real);
}

/** Matches a deny or ask pattern with a path. A pattern without `/` fits names at any depth. */
export function fitsPath(pattern: string, { inside, real }: CallPath): Fit {
  const anywhere = pattern.includes("/") ? pattern : `**/${pattern}`;
  const fold = Deno.build.os === "linux"
    ? (text: string) => text
    : (text: string) => text.toLowerCase();
  const known = [inside, real].filter((it) => it !== undefined);
  if (known.some((it) => pathMatches(fold(anywhere), fold(it)))) return "yes";
  return inside === undefined ? "maybe" : "no";
}

// ── addresses ────────────────────────────────────────────────────────────────────────────────────

/** Reports whether a pattern fits an address. @param strict for allow rules: only usual ports */
export function urlMatches(pattern: string, url: URL, strict: boolean): boolean {
  const { scheme, host, port, path } = parseUrlPattern(pattern)!;
  if (!/^https?:$/.test(url.protocol)) return false;
  if (scheme !== undefined && url.protocol !== `${scheme}:`) return false;
  const name = url.hostname.toLowerCase().replace(/\.$/, "");
  const fits = host === "*" || host === name ||
    host.startsWith("*.") && (name.endsWith(host.slice(1)) || !strict && name === host.slice(2));
  if (!fits) return false;
  if (port !== undefined) {
    const usual = url.protocol === "https:" ? "443" : "80";
    if (port !== "*" && port !== (url.port || usual)) return false;
  } else if (strict && url.port !== "") return false;
  // Credentials go to the server, and hide which server it is.
  if (strict && (url.username !== "" || url.password !== "")) return false;
  return path === undefined || globMatches(path, url.pathname + url.search);
}

/**
 * Matches a deny or ask pattern with the address of a repository, also under the other names that
 * servers know it by: in another case, and with or without `.git` or `/` at its end.
 */
export function fitsRepository(pattern: string, url: URL): boolean {
  const { path } = parseUrlPattern(pattern)!;
  const host = pattern.slice(0, pattern.length - (path?.length ?? 0));
  if (!urlMatches(host, url, false)) return false;
  if (path === undefined) return true;
  const name = plainName(url.pathname);
  return [path.toLowerCase(), plainName(path)].some((wanted) =>
    [name, `${name}.git`, `${name}/`].some((each) => globMatches(wanted, each))
  );
}

function plainName(path: string): string {
  return path.toLowerCase().replace(/(?:\.git|\/)+$/, "");
}

/** Reports whether a rule applies to a tool. */
export function isAbout({ action, tool }: Rule, name: string): boolean {
  if (globMatches(tool, name)) return true;
  // A file that must not be written must not be edited either.
  return action !== "allow" && tool === "write_file" &&
    (name === "edit_file" || name === "apply_patch") && subjectOf(name) === "path";
}
