/**
 * Directories of commands that outlive one command: a `/tmp` for each session, and for each working
 * directory one in which package managers keep what they fetch. They lie in the daemon's own home,
 * which no tool sees, so a command never writes to the person's caches or reads another session's
 * temporary files.
 */
import { join } from "@std/path";
import { sha256Hex } from "../base/sha256.ts";
import { ensurePrivateDir, exists, readDirIfAny } from "../os/files.ts";
import { removeTree } from "../os/remove_tree.ts";
import type { Checkout } from "./git_around.ts";

/** Where commands of a session find their own files. Absolute paths outside of the sandbox. */
export interface CommandSpace {
  /** What they see as `/tmp`, where they work elsewhere. */
  tmp: string;
  /** Where package managers keep what they fetch; undefined where nothing is kept. */
  caches?: string;
  /** The checkout that the working directory lies in, for the person's own sessions. */
  checkout?: Checkout;
  /** A configuration file for git with the person's name and address. */
  git_config?: string;
}

/** Where commands see {@linkcode CommandSpace.caches}: nothing else is mounted in it. */
export const CACHE_DIR = "/var/cache/svc";

/**
 * Returns the variables by which package managers find {@linkcode CACHE_DIR}. Without network those
 * whose caches the person has keep to them, as they could fetch nothing.
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

/** Whose command it is. */
export interface SpaceOwner {
  session_id: string;
  /** Absolute real path. */
  workdir: string;
  /** Sessions that work for others keep nothing: what they leave would reach the person's. */
  trusted: boolean;
}

export interface CommandSpacesParts {
  /** The directory that all of them lie in. */
  root: string;
  /** Ids of the sessions that have not ended. */
  openSessions(): Promise<Iterable<string>>;
  /** Reads the person's {@linkcode CommandSpace.git_config}. */
  gitConfig(): Promise<string | undefined>;
  /** Whose turn it is to make them: many at once would keep the daemon from all else. */
  turn(): Promise<void>;
  /** Reports what could not be removed. */
  onError(path: string, error: unknown): void;
}

/** How long caches are kept that no session uses, in milliseconds: 30 days. */
const CACHES_KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** Names the working directory of caches; its time is when a session began to use them. */
const OWNER = ".svc-workdir";

/** Makes and removes the directories. */
export class CommandSpaces {
  readonly #parts: CommandSpacesParts;
  readonly #tmp: string;
  readonly #caches: string;
  /** Of the sessions that ran a command. */
  readonly #known = new Map<string, CommandSpace>();
  #swept: Promise<void> | undefined;

  constructor(parts: CommandSpacesParts) {
    this.#parts = parts;
    this.#tmp = join(parts.root, "tmp");
    this.#caches = join(parts.root, "caches");
  }

  /**
   * Makes the directories of a session's commands where they are missing.
   *
   * @throws {Error} when they cannot be made, for instance because the disk is full.
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

  /** Forgets which directories a session has; they stay. */
  forget(session_id: string): void {
    this.#known.delete(session_id);
  }

  /** Removes the temporary files of a session that has ended. */
  async sessionEnded(session_id: string): Promise<void> {
    this.forget(session_id);
    await this.#remove(join(this.#tmp, session_id));
  }

  /** Removes what an earlier daemon left: files of ended sessions, caches that nothing used. */
  async #sweep(): Promise<void> {
    // Listed first: a session that begins meanwhile is not among them.
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

/** Its mode is for commands to change: only the directory around it keeps others out. */
function ensureDirectory(path: string): void {
  Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
}
