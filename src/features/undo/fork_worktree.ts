/**
 * Makes the worktree of a fork, with the files of a state. A mark on disk lets the next daemon remove
 * one whose fork was cut off.
 */
import { delay } from "@std/async";
import { dirname, join } from "@std/path";
import { worktreePath } from "../../base/worktree_path.ts";
import { atomicWrite, ensurePrivateDir, exists, readDirIfAny } from "../../os/files.ts";
import { removeTree } from "../../os/remove_tree.ts";
import type { Log } from "../../os/log.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Hub } from "../../session/hub.ts";
import type { Session } from "../../session/session.ts";
import { changeFiles } from "./restore.ts";
import { FileStore } from "./store.ts";
import { linkObjects } from "./store_files.ts";
import { isBeside, storePath } from "./store_path.ts";

/** The content of a mark. */
interface Mark {
  repo: string;
  name: string;
  /** The store of the worktree's files. */
  store: string;
}

export interface ForkParts {
  hub: Hub;
  /** The directory of the marks. */
  marks: string;
  sandbox: Sandbox;
  /** See {@linkcode storePath}. */
  closed: string;
  /** Paths that tools must not see. */
  hidden(workdir: string): readonly string[];
}

export interface WorktreeFork {
  session: Session;
  /** A state in the session's store. */
  state: string;
  /** Creates the session that works in the worktree. */
  create(workdir: string): Promise<Session>;
  signal: AbortSignal;
}

/**
 * Creates a worktree with the files of a state, and a session in it: all or nothing.
 * @throws {SvcError} validation outside of a repository; conflict
 */
export async function forkIntoWorktree(
  parts: ForkParts,
  { session, state, create, signal }: WorktreeFork,
): Promise<Session> {
  const { sandbox } = parts;
  const name = `fork-${crypto.randomUUID().slice(0, 8)}`;
  const places = { closed: parts.closed, sandbox: () => Promise.resolve(sandbox) };
  const source = await storePath(session, places);
  const has_siblings = isBeside(source, session);
  const mark: Mark = {
    repo: session.state.workdir,
    name,
    store: join(dirname(source), `${name}.git`),
  };
  ensurePrivateDir(parts.marks);
  await atomicWrite(join(parts.marks, name), JSON.stringify(mark), 0o600);
  try {
    const { createWorktree } = await import("../worktree/worktree.ts");
    const { path } = await createWorktree({ repo: mark.repo, name, sandbox, signal });
    const store = FileStore.open(
      { dir: mark.store, workdir: path, sandbox, has_siblings },
      [".svc/"],
    );
    linkObjects(source, mark.store);
    const { state: now } = await store.take(signal);
    const differences = await store.differences(now, state, signal);
    await changeFiles({ store, workdir: path, hidden: parts.hidden(path) }, differences, signal);
    await store.take(signal);
    const made = await create(path);
    const own = await storePath(made, places);
    Deno.mkdirSync(dirname(own), { recursive: true, mode: 0o700 });
    Deno.renameSync(mark.store, own);
    Deno.removeSync(join(parts.marks, name));
    return made;
  } catch (error) {
    // What fails stays marked.
    await takeBack(parts, mark).catch(() => {});
    if (error instanceof SvcError || signal.aborted) throw error;
    throw new SvcError("internal", `cannot make the worktree of the fork: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Removes the worktrees of forks that an earlier daemon left incomplete. */
export async function recoverForks(parts: ForkParts, log: Log): Promise<void> {
  for (const { name } of readDirIfAny(parts.marks)) {
    for (let tries = 1;; tries++) {
      try {
        const text = Deno.readTextFileSync(join(parts.marks, name));
        await takeBack(parts, JSON.parse(text) as Mark, { settle_ms: SETTLE_MS });
        break;
      } catch (error) {
        if (tries < TRIES) continue;
        log.error("cannot remove the worktree of a fork that was cut off", {
          worktree: name,
          error: messageOf(error),
        });
        break;
      }
    }
  }
}

/**
 * How long the git of a killed daemon may take to begin with a worktree. It goes on with it, so that
 * the worktree may come back or cannot be removed yet.
 */
const SETTLE_MS = 1_000;
const TRIES = 30;

/**
 * Removes the worktree, unless a session works in it.
 *
 * @param options.settle_ms how long to wait whether it comes back
 * @throws {SvcError} conflict if it does
 */
async function takeBack(
  { hub, sandbox, marks }: ForkParts,
  mark: Mark,
  { settle_ms = 0 } = {},
): Promise<void> {
  const { repo, name, store } = mark;
  const path = worktreePath(repo, name);
  const sessions = await hub.list(true);
  if (!sessions.some(({ workdir }) => workdir === path)) {
    const { cleanWorktree } = await import("../worktree/worktree.ts");
    const signal = AbortSignal.timeout(CLEAN_MS);
    const cleaned = cleanWorktree({ repo, name, force: true, sandbox, signal }).catch((error) => {
      // Nothing was made, perhaps because this is no repository.
      if (exists(path)) throw error;
    });
    await cleaned.finally(() => delay(settle_ms, { persistent: false }));
    if (exists(path)) throw new SvcError("conflict", `git still makes ${path}`);
  }
  if (exists(store)) await removeTree(store);
  Deno.removeSync(join(marks, name));
}

const CLEAN_MS = 600_000;
