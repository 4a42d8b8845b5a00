/** What a repository's configuration would have git run, and how it is kept from it. */

/** One value of `git config --list --show-scope -z`. */
export interface ConfigEntry {
  scope: string;
  /** Section and variable in lower case, the subsection between them as it is. */
  key: string;
  value: string;
}

/** Reads the output of `git config --list --show-scope -z`. */
export function parseConfigList(text: string): ConfigEntry[] {
  const parts = text.split("\0");
  const entries: ConfigEntry[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    entries.push(parseEntry(parts[at], parts[at + 1]));
  }
  return entries;
}

/** Reads the output of `git config --list -z` for a file that the repository's own names. */
export function parseConfigFile(text: string): ConfigEntry[] {
  return text.split("\0").slice(0, -1).map((entry) => parseEntry("local", entry));
}

function parseEntry(scope: string, text: string): ConfigEntry {
  const [, key, value = ""] = text.match(/^([^\n]*)\n?([^]*)$/)!;
  return { scope, key, value };
}

/** Whether a value comes from the repository, not from the person or the system. */
function isRepositorys({ scope }: ConfigEntry): boolean {
  return scope === "local" || scope === "worktree";
}

/**
 * Files that the repository's configuration includes on a condition. Which of these hold depends on
 * the branch and the checkout, so what is in them may count for one git and not for another.
 */
export function conditionalIncludes(entries: readonly ConfigEntry[]): string[] {
  return entries
    .filter((entry) => isRepositorys(entry) && /^includeif\.[^]*\.path$/.test(entry.key))
    .map(({ value }) => value);
}

/** What is set whatever the configuration says. */
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
 * Variables with a subsection that name a program, and what takes its place: a filter is left out
 * (where it is `required` git then refuses the file, rather than commit what should have been
 * encrypted), a merge driver reports a conflict, a hook does nothing.
 */
const PROGRAMS: readonly [RegExp, string][] = [
  [/^filter\.[^]*\.(?:clean|smudge|process)$/, ""],
  [/^merge\.[^]*\.driver$/, "false"],
  [/^hook\.[^]*\.command$/, "true"],
];

/**
 * The environment that makes git run nothing that the repository's own configuration names. What
 * the person or the system configured stays.
 *
 * It goes through the environment, not `-c`: a subsection may hold any character.
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
