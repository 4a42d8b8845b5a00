/**
 * Who commits: the name and address that the person's git uses. Commands do not see the person's home
 * directory, so their git gets these two from a configuration of its own. It stands for the system's,
 * which a repository's configuration overrides.
 */
import { join } from "@std/path";
import { changedAt } from "../os/files.ts";
import { runProgram } from "../os/program.ts";

/** Where git's configuration may have changed, below the home directory and `XDG_CONFIG_HOME`. */
const FILES = [".gitconfig", ".config/git/config"];

const PATTERN = "^user\\.(name|email)$";

/** Reads it again only when the person's configuration has changed. */
export class GitIdentity {
  readonly #home: string | undefined;
  /** What was read, or is being read: many commands that start at once share one git. */
  #known: { at: string; config: Promise<string | undefined> } | undefined;

  /** @param home the person's home directory. */
  constructor(home: string | undefined) {
    this.#home = home;
  }

  /**
   * Returns a configuration file for git with the person's identity; undefined when git is missing
   * or knows none.
   *
   * @param writable real paths of the directories that sessions can write: git is not run from there.
   */
  config(writable: readonly string[]): Promise<string | undefined> {
    const at = FILES.map((name) => this.#home && changedAt(join(this.#home, name))).join();
    if (this.#known?.at !== at) this.#known = { at, config: read(writable) };
    return this.#known.config;
  }
}

async function read(writable: readonly string[]): Promise<string | undefined> {
  const query = ["config", "--global", "--includes", "-z", "--get-regexp", PATTERN];
  try {
    const found = await runProgram("git", query, writable);
    return found?.success ? configOf(found.stdout) : undefined;
  } catch {
    // A git that hangs or cannot be started: commands do without an identity.
    return undefined;
  }
}

/**
 * Writes what `git config -z --get-regexp` printed as a configuration file.
 *
 * @param printed `user.name`, a line break, the value and a zero byte, for each.
 */
export function configOf(printed: string): string | undefined {
  const lines = new Map<string, string>();
  for (const entry of printed.split("\0")) {
    const [key, ...value] = entry.split("\n");
    const name = { "user.name": "name", "user.email": "email" }[key];
    // The last one counts, as git has it.
    if (name !== undefined) lines.set(name, `\t${name} = ${quoted(value.join(" "))}`);
  }
  if (lines.size === 0) return undefined;
  return ["[include]", "\tpath = /etc/gitconfig", "[user]", ...lines.values(), ""].join("\n");
}

function quoted(value: string): string {
  return `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
