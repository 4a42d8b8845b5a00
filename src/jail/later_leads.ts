/**
 * Files that run later because another such file leads to them: targets of links, and what git's
 * configuration names. They need not exist yet.
 */
import { basename, dirname, isAbsolute, join, normalize } from "@std/path";
import { readDirIfAllowed } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import { commonOf, type GitSetting, GitSettings, pointedTo } from "./git_settings.ts";
import {
  BY_GIT,
  GIT_RUNS,
  type Later,
  laterAtHome,
  laterBelow,
  laterNamesAtHome,
} from "./runs_later.ts";

/** More than a project has. */
const LEADS_MAX = 1_000;
/** Links followed in one path. */
const LINKS_MAX = 40;
/** Links followed in one directory. */
const ENTRIES_MAX = 500;

/** The contents of a git directory, read once for all uses. */
export interface GitListing {
  entries: readonly Deno.DirEntry[];
  /** Empty if there is no such directory. */
  info: readonly Deno.DirEntry[];
  hooks: readonly Deno.DirEntry[];
}

/** Lists a git directory; unreadable ones count as empty. */
export function gitListing(git: string): GitListing {
  const entries = readDirIfAllowed(git);
  const inside = (name: string) => hasName(entries, name) ? readDirIfAllowed(join(git, name)) : [];
  return { entries, info: inside("info"), hooks: inside("hooks") };
}

/**
 * Reports whether a name, in lower case, is in a list. Faster than asking for a missing file, and
 * safe on case-insensitive file systems.
 */
export function hasName(entries: readonly Deno.DirEntry[], name: string): boolean {
  return entries.some((entry) => entry.name.toLowerCase() === name);
}

/** Collects what other files lead to in a working directory. */
export class LeadFinder implements Disposable {
  readonly leads = new Map<string, Later>();
  readonly #workdir: string;
  readonly #home: string | undefined;
  readonly #settings: GitSettings;
  #of_person: GitSetting[] | undefined;
  readonly #listed = new Map<string, readonly Deno.DirEntry[]>();

  /** Both are absolute real paths. */
  constructor(workdir: string, home: string | undefined) {
    this.#workdir = workdir;
    this.#home = home;
    this.#settings = new GitSettings(home);
  }

  [Symbol.dispose](): void {
    this.#settings[Symbol.dispose]();
  }

  /** Follows a link whose own path runs later. */
  link(path: string, later: Later): void {
    if (later.only !== undefined) return;
    this.#add(
      path,
      { ...later, runner: `${later.runner}; ${this.#shown(path)} leads to it` },
      path,
    );
  }

  /** Follows a link that is a parent of names that run later, such as `.cargo`. */
  linkAbove(path: string, name: string): void {
    for (const { rest, later } of laterBelow(name)) this.link(join(path, rest), later);
  }

  /** Follows what leads from the home directory into the working directory. */
  atHome(): void {
    const home = this.#home;
    if (home === undefined) return;
    // Listing is faster than asking for missing files.
    const there = new Map(readDirIfAllowed(home).map((entry) => [entry.name, entry]));
    for (const name of laterNamesAtHome()) {
      const [top, ...below] = name.split("/");
      const entry = there.get(top);
      if (entry === undefined) continue;
      const path = join(home, name);
      if (entry.isSymlink || (below.length > 0 && this.#linkedBelow(home, below, top))) {
        this.link(path, laterAtHome(path, home)!);
      }
    }
  }

  /** Follows the repository around the working directory, if that is not its top. */
  around(): void {
    for (let top = this.#workdir; dirname(top) !== top; top = dirname(top)) {
      const git = join(top, ".git");
      const found = statOf(git);
      if (found === undefined) continue;
      // Anyone can make a repository of /tmp.
      const is_own = found.uid === null || found.uid === 0 || found.uid === Deno.uid();
      if (top !== this.#workdir && is_own) this.git(git, top);
      return;
    }
  }

  /**
   * Follows the links in a git directory, and the paths named by its and the person's
   * configuration.
   *
   * @param git the git directory, or the file that points to one
   * @param top the top of its working tree
   */
  git(git: string, top: string, listed?: GitListing): void {
    const directory = listed !== undefined || statOf(git)?.isDirectory
      ? git
      : pointedTo(this.#settings.text(git) ?? "", top);
    if (directory === undefined) return;
    const common = commonOf(directory);
    const { entries, info, hooks } = listed !== undefined && common === git
      ? listed
      : gitListing(common);
    const files = [
      join(common, "config"),
      ...entries.some(({ name }) => name === "config.worktree")
        ? [join(common, "config.worktree")]
        : [],
      ...common === directory ? [] : [join(directory, "config.worktree")],
    ];
    this.#of_person ??= this.#settings.ofPerson();
    const settings = [...files.flatMap((file) => this.#settings.read(file)), ...this.#of_person];
    for (const setting of settings) {
      for (const path of this.#settings.named(setting, top)) {
        const [section, name] = setting.key.split(".");
        const runner = `git uses it for its setting ${section}.${name}`;
        this.#add(path, { runner, soon: true }, setting.file);
      }
    }
    for (const { name, isSymlink } of entries) {
      if (isSymlink && GIT_RUNS.includes(name)) this.link(join(common, name), BY_GIT);
    }
    this.linksIn(join(common, "info"), BY_GIT, info);
    this.linksIn(join(common, "hooks"), BY_GIT, hooks);
  }

  /** Follows the links in a directory that runs later. */
  linksIn(
    directory: string,
    later: Later,
    listed: readonly Deno.DirEntry[] = readDirIfAllowed(directory),
  ): void {
    const waiting = [directory];
    let left = ENTRIES_MAX;
    for (let n = 0; n < waiting.length; n++) {
      const entries = n === 0 ? listed : readDirIfAllowed(waiting[n]);
      for (const { name, isDirectory, isSymlink } of entries) {
        if (left-- <= 0) return;
        const path = join(waiting[n], name);
        if (isSymlink) this.link(path, later);
        else if (isDirectory) waiting.push(path);
      }
    }
  }

  /** @param from the source; a directory around it would be the project itself */
  #add(path: string, later: Later, from: string): void {
    const target = resolved(path);
    if (target === undefined || !isWithin(target, this.#workdir) || isWithin(from, target)) return;
    if (target === this.#workdir || this.leads.has(target) || this.leads.size >= LEADS_MAX) return;
    this.leads.set(target, later);
    this.linksIn(target, later);
  }

  #linkedBelow(home: string, names: readonly string[], top: string): boolean {
    let directory = join(home, top);
    for (const name of names) {
      const entries = this.#listed.get(directory) ?? readDirIfAllowed(directory);
      this.#listed.set(directory, entries);
      const entry = entries.find((each) => each.name === name);
      if (entry === undefined || entry.isSymlink) return entry !== undefined;
      directory = join(directory, name);
    }
    return false;
  }

  #shown(path: string): string {
    return isWithin(path, this.#workdir)
      ? path.slice(this.#workdir.length).replace(/^\//, "")
      : path;
  }
}

/** Resolves links; a missing path keeps its name. */
function resolved(path: string, links = 0): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    if (links > LINKS_MAX || dirname(path) === path) return undefined;
  }
  try {
    const target = Deno.readLinkSync(path);
    const whole = isAbsolute(target) ? target : join(dirname(path), target);
    return resolved(normalize(whole), links + 1);
  } catch {
    const above = resolved(dirname(path), links + 1);
    return above && join(above, basename(path));
  }
}

function statOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}
