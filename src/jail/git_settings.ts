/**
 * The files that git's configuration makes git run or read. Reads only the text: git itself would
 * run some of them. All values count, even overridden and conditional ones.
 */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, normalize } from "@std/path";
import { lacksForNow } from "../os/lacks.ts";
import { UntrustedReader } from "./untrusted_files.ts";

export interface GitSetting {
  /** Lower case, without a subsection: `filter.clean`. */
  key: string;
  value: string;
  file: string;
}

/** Bytes of a configuration that are read. */
const CONFIG_MAX = 256 * 1024;
/** Files that a configuration may include in total. */
const FILES_MAX = 20;
/** Configurations that are remembered. */
const KNOWN_MAX = 500;

/** Keys that name no program, and aliases, which a person starts by name. */
const NAMES_NOTHING = new RegExp(
  "^(?:(?:alias|branch|user|url|color|extensions|advice)\\.|remote\\.(?:url|pushurl|fetch|push)$|" +
    "submodule\\.(?:url|branch)$|core\\.(?:worktree|excludesfile)$|commit\\.template$|" +
    "blame\\.ignorerevsfile$|mailmap\\.file$)",
);
/** Keys whose whole value is a path. */
const WHOLE = /^(?:core\.(?:hookspath|attributesfile)|init\.templatedir)$/;
const INCLUDES = /^include(?:if)?\.path$/;
const BETWEEN_WORDS = /[\s'"`;|&()<>={}$!]+/;

/** Contents by file, with what shows that it changed. */
const known = new Map<string, { at: string; text: string; settings: GitSetting[] }>();

/** Reads git configurations. Dispose of it, because it may open the C library. */
export class GitSettings implements Disposable {
  readonly #reader = new UntrustedReader();
  readonly #home: string | undefined;

  constructor(home: string | undefined) {
    this.#home = home;
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }

  /** Returns the values of a configuration and of those that it includes. */
  read(file: string): GitSetting[] {
    const files = [file];
    const found: GitSetting[] = [];
    for (let n = 0; n < files.length && n < FILES_MAX; n++) {
      for (const setting of this.#one(files[n])?.settings ?? []) {
        found.push(setting);
        if (!INCLUDES.test(setting.key)) continue;
        const path = this.#path(setting.value, dirname(files[n]));
        if (path !== undefined && !files.includes(path)) files.push(path);
      }
    }
    return found;
  }

  text(file: string): string | undefined {
    return this.#one(file)?.text;
  }

  ofPerson(): GitSetting[] {
    const home = this.#home;
    if (home === undefined) return [];
    // Faster than a `statSync` that fails.
    return [".gitconfig", ".config/git/config"].map((name) => join(home, name))
      .filter((file) => existsSync(file)).flatMap((file) => this.read(file));
  }

  /**
   * Returns the paths that a setting makes git run or read, absolute but not resolved.
   *
   * @param top where a relative path starts: the top of the working tree
   */
  named({ key, value, file }: GitSetting, top: string): string[] {
    if (NAMES_NOTHING.test(key)) return [];
    if (INCLUDES.test(key)) return this.#paths([value], dirname(file));
    if (WHOLE.test(key)) return this.#paths([value], top);
    const [program, ...words] = value.split(BETWEEN_WORDS);
    const named = [...program.includes("/") ? [program] : [], ...words.filter(isLikePath)];
    return this.#paths(named, top).filter((path) => !isDirectory(path));
  }

  #paths(values: readonly string[], base: string): string[] {
    return values.flatMap((value) => this.#path(value, base) ?? []);
  }

  #path(value: string, base: string): string | undefined {
    if (value === "" || value.startsWith("-") || value.includes("\0")) return undefined;
    if (/^~(?=\/|$)/.test(value)) return this.#home && normalize(this.#home + value.slice(1));
    return normalize(isAbsolute(value) ? value : join(base, value)).replace(/(?<=.)\/+$/, "");
  }

  #one(file: string): { text: string; settings: GitSetting[] } | undefined {
    const at = stateOf(file);
    const before = known.get(file);
    if (at === undefined) return undefined;
    if (before?.at === at) return before;
    const text = this.#text(file) ?? "";
    const now = { at, text, settings: parsedConfig(text, file) };
    known.delete(file);
    known.set(file, now);
    if (known.size > KNOWN_MAX) known.delete(known.keys().next().value!);
    return now;
  }

  #text(file: string): string | undefined {
    try {
      const real = Deno.realPathSync(file);
      return this.#reader.files(dirname(real)).text(real, CONFIG_MAX);
    } catch (error) {
      // This is remembered until the file changes.
      if (lacksForNow(error)) throw error;
      return undefined;
    }
  }
}

/** Returns the directory that a `.git` file points to. */
export function pointedTo(text: string, directory: string): string | undefined {
  const [, pointer] = text.match(/^gitdir: ([^\n]+)\n*$/) ?? [];
  if (pointer === undefined) return undefined;
  return normalize(isAbsolute(pointer) ? pointer : join(directory, pointer)).replace(/\/+$/, "");
}

/** Returns the git directory with the shared configuration. */
export function commonOf(git: string): string {
  const above = dirname(git);
  return above.endsWith("/worktrees") ? dirname(above) : git;
}

/** Parses a configuration as git writes it. */
export function parsedConfig(text: string, file: string): GitSetting[] {
  const found: GitSetting[] = [];
  let section = "";
  for (let line of text.replaceAll(/\\\r?\n/g, "").split(/\r?\n/)) {
    const header = line.match(/^\s*\[\s*([\w.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]/);
    if (header !== null) {
      section = header[1].split(".")[0].toLowerCase();
      line = line.slice(header[0].length);
    }
    const [, name, value = ""] = line.match(/^\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$/) ?? [];
    if (name !== undefined) {
      found.push({ key: `${section}.${name.toLowerCase()}`, value: unquoted(value), file });
    }
  }
  return found;
}

/** Removes quotes and a trailing comment. */
function unquoted(value: string): string {
  let [text, quoted] = ["", false];
  for (let n = 0; n < value.length; n++) {
    const char = value[n];
    if (char === '"') quoted = !quoted;
    else if (char === "\\") text += value[++n] ?? "";
    else if (!quoted && (char === "#" || char === ";")) break;
    else text += char;
  }
  return text.trim();
}

/** Other words are system programs, subcommands and the like. */
function isLikePath(word: string): boolean {
  return /\/|[^.]\.[^.]/.test(word);
}

/** Shows whether a file has changed; only root can set its `ctime`. */
function stateOf(file: string): string | undefined {
  try {
    const { size, ino, mtime, ctime } = Deno.statSync(file);
    return [size, ino, +(mtime ?? 0), +(ctime ?? 0)].join();
  } catch {
    return undefined;
  }
}

function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
