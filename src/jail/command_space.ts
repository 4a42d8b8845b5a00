/**
 * Directories that outlive one command: a `/tmp` per session, and package caches per working
 * directory. They are in the daemon's home, which no tool sees, so a command cannot write to the
 * person's caches or read another session's temporary files.
 */
import { join } from "@std/path";
import { sha256Hex } from "../base/sha256.ts";
import { ensurePrivateDir, exists, readDirIfAny } from "../os/files.ts";
import { removeTree } from "../os/remove_tree.ts";
import type { Checkout } from "./git_around.ts";

/** Absolute paths outside the sandbox. */
export interface CommandSpace {
  /** Mounted as `/tmp`, unless the session works in `/tmp`. */
  tmp: string;
  /** For package managers; undefined if nothing is kept. */
  caches?: string;
  /** The checkout around the working directory, for the person's own sessions. */
  checkout?: Checkout;
  /** A git configuration file with the person's name and address. */
  git_config?: string;
}

/** Where commands under bubblewrap see {@linkcode CommandSpace.caches}. */
export const CACHE_DIR = "/var/cache/svc";

/** Package managers that refuse or complain about variables of others. */
export interface UsedManagers {
  /** Whether the directory is npm's. */
  npm: boolean;
  /** Whether the person has nvm. */
  nvm: boolean;
}

/**
 * Returns the variables that point package managers to their caches. Without network, those with
 * caches of the person's keep using them, because they cannot download.
 *
 * @param home of commands
 * @param options.at where commands see {@linkcode CommandSpace.caches}
 */
export function cacheEnvironment(
  home: string,
  { network, npm, nvm, at = CACHE_DIR }: { network: boolean; at?: string } & UsedManagers,
): Record<string, string> {
  // Maven splits its options at blanks.
  const option = (name: string, path: string) => /\s/.test(path) ? [] : [`-D${name}=${path}`];
  const maven = option("maven.repo.local", `${at}/maven`);
  const tail = option("maven.repo.local.tail", `${home}/.m2/repository`);
  return {
    XDG_CACHE_HOME: `${at}/xdg`,
    npm_config_cache: `${at}/npm`,
    pnpm_config_store_dir: `${at}/pnpm`,
    // Before pnpm 11.
    ...(npm ? {} : { npm_config_store_dir: `${at}/pnpm` }),
    YARN_CACHE_FOLDER: `${at}/yarn`,
    // Since Yarn 2.
    YARN_GLOBAL_FOLDER: `${at}/yarn`,
    BUN_INSTALL_CACHE_DIR: `${at}/bun`,
    PYTHONUSERBASE: `${at}/python`,
    GRADLE_USER_HOME: `${at}/gradle`,
    NUGET_PACKAGES: `${at}/nuget`,
    ...installedPrograms(nvm, at),
    // It reads the person's repository as well.
    MAVEN_ARGS: [...maven, ...tail].join(" "),
    ...(network
      ? {
        CARGO_HOME: `${at}/cargo`,
        GOMODCACHE: `${at}/go`,
        DENO_DIR: `${at}/deno`,
        // Before Maven 3.9.
        MAVEN_OPTS: maven.join(" "),
      }
      : { DENO_DIR: `${home}/.cache/deno` }),
  };
}

/** Programs that package managers install for a person are in these; the last on the PATH. */
export const programDirs = (at = CACHE_DIR): string[] => [`${at}/bin`, `${at}/python/bin`];

/** Otherwise they would go where a command cannot write, or be gone after it. */
function installedPrograms(nvm: boolean, at: string): Record<string, string> {
  const [bin] = programDirs(at);
  return {
    // These add `/bin` themselves. With the first, nvm would choose no version.
    ...(nvm ? {} : { npm_config_prefix: at }),
    CARGO_INSTALL_ROOT: at,
    DENO_INSTALL_ROOT: at,
    GOBIN: bin,
    BUN_INSTALL_BIN: bin,
    BUN_INSTALL_GLOBAL_DIR: `${at}/bun-global`,
    UV_TOOL_BIN_DIR: bin,
    UV_TOOL_DIR: `${at}/uv-tools`,
    PIPX_BIN_DIR: bin,
    PIPX_HOME: `${at}/pipx`,
  };
}

export interface SpaceOwner {
  session_id: string;
  /** Absolute real path. */
  workdir: string;
  /** Others keep nothing, because what they leave would reach the person's own sessions. */
  trusted: boolean;
}

export interface CommandSpacesParts {
  root: string;
  openSessions(): Promise<Iterable<string>>;
  gitConfig(): Promise<string | undefined>;
  /** Waits for a turn, because making many at once would block the daemon. */
  turn(): Promise<void>;
  onError(path: string, error: unknown): void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long unused caches are kept. */
const CACHES_KEPT_MS = 30 * DAY_MS;
/** The same for a directory that is gone; it may be on a disk that is not mounted. */
const GONE_KEPT_MS = 2 * DAY_MS;
/** Names the working directory of caches. Its mtime is when they were used, to a day. */
const OWNER = ".svc-workdir";

/** A directory's caches in the store. */
export interface StoredCaches {
  /** Absolute path. */
  caches: string;
  workdir: string;
  used_ms: number;
}

/** Returns the directories of a store. */
export function storeOf(root: string): { tmp: string; caches: string } {
  return { tmp: join(root, "tmp"), caches: join(root, "caches") };
}

/** Lists the caches of a store, from all its working directories. */
export function storedCaches(root: string): StoredCaches[] {
  const { caches } = storeOf(root);
  return readDirIfAny(caches).flatMap(({ name }) => {
    if (!name.endsWith(OWNER)) return [];
    const owner = join(caches, name);
    try {
      const used_ms = Deno.statSync(owner).mtime?.getTime() ?? 0;
      const workdir = Deno.readTextFileSync(owner);
      return [{ caches: owner.slice(0, -OWNER.length), workdir, used_ms }];
    } catch {
      // Another daemon has removed it.
      return [];
    }
  });
}

export class CommandSpaces {
  readonly #parts: CommandSpacesParts;
  readonly #tmp: string;
  readonly #caches: string;
  readonly #known = new Map<string, CommandSpace & { since: number }>();
  #swept: Promise<void> | undefined;

  constructor(parts: CommandSpacesParts) {
    this.#parts = parts;
    const { tmp, caches } = storeOf(parts.root);
    this.#tmp = tmp;
    this.#caches = caches;
  }

  /**
   * Makes the missing directories of a session. @throws {Error} for instance when the disk is full
   */
  async of(owner: SpaceOwner): Promise<CommandSpace> {
    let known = this.#known.get(owner.session_id);
    if (known === undefined || !isThere(known) || Date.now() - known.since > DAY_MS) {
      await this.#parts.turn();
      known = { ...await this.#make(owner), since: Date.now() };
      this.#known.set(owner.session_id, known);
    }
    this.#swept ??= this.#sweep().catch((error) => this.#parts.onError(this.#parts.root, error));
    const { since: _, ...space } = known;
    return owner.trusted ? { ...space, git_config: await this.#parts.gitConfig() } : space;
  }

  async #make({ session_id, workdir, trusted }: SpaceOwner): Promise<CommandSpace> {
    ensurePrivateDir(this.#parts.root);
    ensurePrivateDir(this.#tmp);
    const tmp = join(this.#tmp, session_id);
    ensureDirectory(tmp);
    if (!trusted) return { tmp };
    ensurePrivateDir(this.#caches);
    const caches = join(this.#caches, (await sha256Hex(workdir)).slice(0, 32));
    await Deno.writeTextFile(`${caches}${OWNER}`, workdir, { mode: 0o600 });
    ensureDirectory(caches);
    return { tmp, caches };
  }

  /** Forgets the directories of a session, but keeps them. */
  forget(session_id: string): void {
    this.#known.delete(session_id);
  }

  async sessionEnded(session_id: string): Promise<void> {
    this.forget(session_id);
    await this.#remove(join(this.#tmp, session_id));
  }

  /** Removes the files of ended sessions and the unused caches that an earlier daemon left. */
  async #sweep(): Promise<void> {
    // Listed first, so that it contains no session that starts meanwhile.
    const left = readDirIfAny(this.#tmp);
    const open = new Set(await this.#parts.openSessions());
    for (const { name } of left) {
      if (!open.has(name)) await this.#remove(join(this.#tmp, name));
    }
    for (const { caches, workdir, used_ms } of storedCaches(this.#parts.root)) {
      const kept_ms = exists(workdir) ? CACHES_KEPT_MS : GONE_KEPT_MS;
      if (Date.now() - used_ms < kept_ms) continue;
      await this.#remove(caches);
      await this.#remove(`${caches}${OWNER}`);
    }
  }

  async #remove(path: string): Promise<void> {
    try {
      await removeTree(path);
    } catch (error) {
      this.#parts.onError(path, error);
    }
  }
}

function isThere({ tmp, caches }: CommandSpace): boolean {
  return exists(tmp) && (caches === undefined || exists(caches));
}

/** Commands can change its mode; the directory around it keeps others out. */
function ensureDirectory(path: string): void {
  Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
}
