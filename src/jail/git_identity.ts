/**
 * The name and address in commits. Commands do not see the person's home directory, so they get
 * these two as the system's configuration, which a repository's can override.
 */
import { join } from "@std/path";
import { changedAt } from "../os/files.ts";
import { runProgram } from "../os/program.ts";

/** Below the home directory; the second is also the place below `XDG_CONFIG_HOME`. */
const FILES = [".gitconfig", ".config/git/config"];

const PATTERN = "^user\\.(name|email)$";

/** Reads the identity again only when the person's configuration has changed. */
export class GitIdentity {
  readonly #home: string | undefined;
  /** Commands that start at once share one git. */
  #known: { at: string; config: Promise<string | undefined> } | undefined;

  constructor(home: string | undefined) {
    this.#home = home;
  }

  /**
   * Returns a git configuration with the person's identity; undefined if git is missing or knows
   * none.
   *
   * @param writable real paths that sessions can write; git is not run from there
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
    // Commands do without an identity.
    return undefined;
  }
}

/** Turns the output of `git config -z --get-regexp` into a configuration file. */
export function configOf(printed: string): string | undefined {
  const lines = new Map<string, string>();
  for (const entry of printed.split("\0")) {
    const [key, ...value] = entry.split("\n");
    const name = { "user.name": "name", "user.email": "email" }[key];
    // In git, the last value counts.
    if (name !== undefined) lines.set(name, `\t${name} = ${quoted(value.join(" "))}`);
  }
  if (lines.size === 0) return undefined;
  return ["[include]", "\tpath = /etc/gitconfig", "[user]", ...lines.values(), ""].join("\n");
}

function quoted(value: string): string {
  return `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
