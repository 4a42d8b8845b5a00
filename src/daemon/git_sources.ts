/**
 * The files that the person's git reads when it is asked for a credential. Git runs what they name,
 * so no session may be able to write one of them, or to make one that is missing.
 */
import { dirname, isAbsolute, join, resolve } from "@std/path";

/** How git is started. */
export interface GitStart {
  environment: Readonly<Record<string, string>>;
  /** Its path. */
  program: string;
}

/** A file that a session can write, or make. */
export interface WritableSource {
  path: string;
  /** Of the session. */
  directory: string;
}

/** Links on the way to a file; git reads none behind more. */
const LINKS_MAX = 40;

/** Returns where git and its own helpers look by themselves, whether something is there or not. */
export function fixedSources({ environment, program }: GitStart): string[] {
  const { GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM, HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME } =
    environment;
  const below = (named: string | undefined, usual: string, path: string) =>
    named ? [join(named, path)] : HOME ? [join(HOME, usual, path)] : [];
  return [
    ...["/etc/gitconfig", join(prefixOf(program), "etc/gitconfig")],
    // Git before 2.32 does not know these variables, so they are no reason to leave out others.
    ...[GIT_CONFIG_SYSTEM, GIT_CONFIG_GLOBAL].filter((path) => path !== undefined && path !== ""),
    ...below(undefined, "", ".gitconfig"),
    ...below(XDG_CONFIG_HOME, ".config", "git/config"),
    // Of git-credential-cache, which is given secrets.
    ...below(XDG_CACHE_HOME, ".cache", "git/credential/socket"),
    ...below(undefined, "", ".git-credential-cache/socket"),
  ].map((path) => resolve("/", path!));
}

/**
 * Returns the files that a configuration names, whether they are there or not.
 *
 * @param listed the output of `git config --list -z --show-origin --includes`
 * @throws {Error} when it is unclear which file is meant
 */
export function namedSources(listed: string, start: GitStart): string[] {
  const parts = listed.split("\0");
  const found = new Set<string>();
  for (let n = 0; n + 1 < parts.length; n += 2) {
    const file = /^file:([^]*)$/.exec(parts[n])?.[1];
    const [, key, value] = /^([^\n]*)\n?([^]*)$/.exec(parts[n + 1])!;
    if (file !== undefined) found.add(resolve("/", file));
    if (/^include(?:if\..*)?\.path$/is.test(key)) {
      const path = expanded(value.replace(/^:\(optional\)/, ""), start);
      found.add(resolve("/", file === undefined ? "" : dirname(file), path));
    } else if (/^credential\.(?:.*\.)?helper$/is.test(key)) {
      for (const path of pathsIn(value, start)) found.add(resolve("/", path));
    }
  }
  return [...found];
}

/** Finds a file that a session can write or make, as it is named or behind links. */
export function writableSource(
  paths: readonly string[],
  writable: readonly string[],
): WritableSource | undefined {
  const places = new Set(writable);
  for (const path of paths) {
    for (const step of stepsTo(path)) {
      if (places.has(step)) return { path, directory: step };
    }
  }
}

/** Everything on the way to a path whose replacement changes where it leads. @yields real paths */
function* stepsTo(path: string): Generator<string> {
  const rest = path.split("/").filter((part) => part !== "");
  let at = "/";
  yield at;
  for (let links = 0; rest.length > 0;) {
    const step = join(at, rest.shift()!);
    yield step;
    const target = linkAt(step);
    if (target === undefined) {
      at = step;
      continue;
    }
    if (++links > LINKS_MAX) return;
    rest.unshift(...target.split("/").filter((part) => part !== ""));
    if (isAbsolute(target)) at = "/";
  }
}

function linkAt(path: string): string | undefined {
  try {
    return Deno.readLinkSync(path);
  } catch {
    // It is missing, or no link.
    return undefined;
  }
}

/** Returns the words of a helper's command line that may be paths. */
function pathsIn(line: string, start: GitStart): string[] {
  const text = line.replace(/\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?/g, (_, name) => {
    return start.environment[name] ?? "";
  });
  const quoted = [...text.matchAll(/"([^"]*)"|'([^']*)'/g)].map(([, a, b]) => a ?? b);
  const words = text.match(/(?:\\.|[^\s"'`;|&()<>{}=!\\])+/gs) ?? [];
  return [...quoted, ...words.map((word) => word.replace(/\\(.)/gs, "$1"))]
    .filter((word) => word.includes("/") || word === "~")
    .map((word) => expanded(word, start));
}

/** @throws {Error} when that needs the system's list of users */
function expanded(path: string, { environment, program }: GitStart): string {
  if (/^~(?:\/|$)/.test(path)) return join(environment.HOME ?? "/", path.slice(1));
  if (path.startsWith("~")) {
    throw new Error(`svc cannot tell where ${path} is: write the whole path in its place`);
  }
  const PREFIX = "%(prefix)/";
  return path.startsWith(PREFIX) ? join(prefixOf(program), path.slice(PREFIX.length)) : path;
}

/** The directory that git is installed in. */
function prefixOf(program: string): string {
  return dirname(dirname(program));
}
