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

/** Where commands see {@linkcode CommandSpace.caches}. */
export const CACHE_DIR = "/var/cache/svc";

/**
 * Returns the variables that point package managers to {@linkcode CACHE_DIR}. Without network,
 * those with caches of the person's keep using them, because they cannot download.
 */
export function cacheEnvironment(network: boolean, home: string): Record<string, string> {
  return {
    XDG_CACHE_HOME: `${CACHE_DIR}/xdg`,
    npm_config_cache: `${CACHE_DIR}/npm`,
    npm_config_store_dir: `${CACHE_DIR}/pnpm`,
    YARN_CACHE_FOLDER: `${CACHE_DIR}/yarn`,
    BUN_INSTALL_CACHE_DIR: `${CACHE_DIR}/bun`,
    PYTHONUSERBASE: `${CACHE_DIR}/python`,
    GRADLE_USER_HOME: `${CACHE_DIR}/gradle`,
    NUGET_PACKAGES: `${CACHE_DIR}/nuget`,
    ...(network
      ? {
        CARGO_HOME: `${CACHE_DIR}/cargo`,
        GOMODCACHE: `${CACHE_DIR}/go`,
        DENO_DIR: `${CACHE_DIR}/deno`,
        MAVEN_ARGS: `-Dmaven.repo.local=${CACHE_DIR}/maven`,
      }
      : { DENO_DIR: `${home}/.cache/deno` }),
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

/** How long unused caches are kept: 30 days. */
const CACHES_KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** Names the working directory of caches. Its mtime is when a session began to use them. */
const OWNER = ".svc-workdir";

export class CommandSpaces {
  readonly #parts: CommandSpacesParts;
  readonly #tmp: string;
  readonly #caches: string;
  readonly #known = new Map<string, CommandSpace>();
  #swept: Promise<void> | undefined;

  constructor(parts: CommandSpacesParts) {
    this.#parts = parts;
    this.#tmp = join(parts.root, "tmp");
    this.#caches = join(parts.root, "caches");
  }

  /**
   * Makes the missing directories of a session. @throws {Error} for instance when the disk is full
   */
  async of(owner: SpaceOwner): Promise<CommandSpace> {
    let known = this.#known.get(owner.session_id);
    if (known === undefined || !isThere(known)) {
      await this.#parts.turn();
      known = await this.#make(owner);
      this.#known.set(owner.session_id, known);
    }
    this.#swept ??= this.#sweep().catch((error) => this.#parts.onError(this.#parts.root, error));
    return owner.trusted ? { ...known, git_config: await this.#parts.gitConfig() } : known;
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
    const oldest = Date.now() - CACHES_KEPT_MS;
    for (const { name } of readDirIfAny(this.#caches)) {
      if (!name.endsWith(OWNER)) continue;
      const owner = join(this.#caches, name);
      const used = (await Deno.stat(owner)).mtime?.getTime() ?? 0;
      if (used >= oldest) continue;
      await this.#remove(owner.slice(0, -OWNER.length));
      await this.#remove(owner);
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
