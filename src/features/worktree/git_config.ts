/** Finds and disables programs in a repository's configuration. */

export interface ConfigEntry {
  scope: string;
  /** Section and variable are in lower case; the subsection is unchanged. */
  key: string;
  value: string;
}

/** Parses `git config --list --show-scope -z`. */
export function parseConfigList(text: string): ConfigEntry[] {
  const parts = text.split("\0");
  const entries: ConfigEntry[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    entries.push(parseEntry(parts[at], parts[at + 1]));
  }
  return entries;
}

/** Parses `git config --list -z` of an included file. */
export function parseConfigFile(text: string): ConfigEntry[] {
  return text.split("\0").slice(0, -1).map((entry) => parseEntry("local", entry));
}

function parseEntry(scope: string, text: string): ConfigEntry {
  const [, key, value = ""] = text.match(/^([^\n]*)\n?([^]*)$/)!;
  return { scope, key, value };
}

/** Reports whether a value is from the repository, not from the person or the system. */
function isRepositorys({ scope }: ConfigEntry): boolean {
  return scope === "local" || scope === "worktree";
}

/**
 * Returns conditionally included files. The conditions depend on branch and checkout, so different
 * gits may include different files.
 */
export function conditionalIncludes(entries: readonly ConfigEntry[]): string[] {
  return entries
    .filter((entry) => isRepositorys(entry) && /^includeif\.[^]*\.path$/.test(entry.key))
    .map(({ value }) => value);
}

const ALWAYS: readonly [string, string][] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.pager", "cat"],
  ["core.askPass", ""],
  ["core.untrackedCache", "false"],
  ["credential.helper", ""],
  ["commit.gpgSign", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["submodule.recurse", "false"],
  ["advice.addEmbeddedRepo", "false"],
];

/**
 * Variables that name a program, and their replacements. A filter is removed (git refuses files
 * with a `required` one, rather than commit unencrypted data), a merge driver reports a conflict, a
 * hook does nothing.
 */
const PROGRAMS: readonly [RegExp, string][] = [
  [/^filter\.[^]*\.(?:clean|smudge|process)$/, ""],
  [/^merge\.[^]*\.driver$/, "false"],
  [/^hook\.[^]*\.command$/, "true"],
];

/**
 * Returns variables that disable all programs in the repository's configuration, but not those of
 * the person and the system. Not `-c`, because a subsection may contain any character.
 */
export function hardenedConfig(entries: readonly ConfigEntry[]): Record<string, string> {
  const pairs = new Map(ALWAYS);
  for (const { key } of entries.filter(isRepositorys)) {
    const program = PROGRAMS.find(([pattern]) => pattern.test(key));
    if (program !== undefined) pairs.set(key, program[1]);
  }
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(pairs.size) };
  let at = 0;
  for (const [key, value] of pairs) {
    env[`GIT_CONFIG_KEY_${at}`] = key;
    env[`GIT_CONFIG_VALUE_${at}`] = value;
    at++;
  }
  return env;
}
