/** Stores the states of sessions' files before and after turns, and undoes turns. */
import type * as z from "zod";
import { join } from "@std/path";
import { within } from "../../base/within.ts";
import { ensurePrivateDir, readDirIfAny } from "../../os/files.ts";
import { isWithin } from "../../os/paths.ts";
import type { Log } from "../../os/log.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { MAIN_LANE, UNDO_UNAVAILABLE } from "../../protocol/events.ts";
import type { Hub } from "../../session/hub.ts";
import type { Ids } from "../../session/ids.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import type { UndoState } from "../../session/session_state.ts";
import {
  type Exclusion,
  type FileDifference,
  isDirectory,
  withoutDirectoriesAbove,
} from "./file_state.ts";
import { type Choice, choose, type Force, type KeptPath, PATHS_NAMED } from "./choice.ts";
import { compareWith, type Comparison, type Now } from "./compare.ts";
import {
  type FilePlan,
  nothing,
  type Plan,
  type RestoreOptions,
  type RewindOptions,
  rewindPlan,
  undoPlan,
} from "./plan.ts";
import { filePlan, type UndoFileOptions } from "./undo_file.ts";
import {
  forkIntoWorktree,
  type ForkParts,
  recoverForks,
  type WorktreeFork,
} from "./fork_worktree.ts";
import { inTheWay, isHalfDone, recoverFiles, restoreFiles } from "./restore.ts";
import { lookOver } from "./look_over.ts";
import { FileStore } from "./store.ts";
import { isBeside, storePath } from "./store_path.ts";
import { hasGit } from "./store_git.ts";
import type { rewindResultSchema } from "../../protocol/schemas/rewind.ts";

interface UndoParts {
  hub: Hub;
  ids: Ids;
  log: Log;
  /** The directory with a mark for each session whose files are being restored. */
  marks: string;
  /** The directory with a mark for each worktree of a fork that is being made. */
  fork_marks: string;
  /** See {@linkcode storePath}. */
  closed: string;
  /** svc's own directories, which no state includes. */
  own: readonly string[];
  sandbox(): Promise<Sandbox>;
  /** Paths that tools must not see. */
  hidden(workdir: string): readonly string[];
}

type RewindResult = z.output<ReturnType<typeof rewindResultSchema>>;

interface Kept {
  store: FileStore;
  dir: string;
  workdir: string;
  hidden: readonly string[];
}

/** Files in an event. */
const NAMED = 50;
/** Errors that are not retried at each turn. */
const LASTING: ReadonlySet<string> = new Set(["unavailable", "timeout"]);
/** A person may have 128 inotify instances as a rule, and editors and bundlers need some. */
const WATCHED_MAX = 8;
/** How long a turn that was cut off waits for its last state. */
const CUT_OFF_MS = 3_000;

export class Undo {
  readonly #parts: UndoParts;
  /** Runs the work of each session in sequence. */
  readonly #work = new Map<string, Promise<unknown>>();
  readonly #stores = new Map<string, FileStore>();
  readonly #before = new WeakMap<Turn, Promise<boolean>>();
  /** Why a session's files are not stored. */
  readonly #given_up = new Map<string, string>();
  /** Sessions whose first state need not be prepared. */
  readonly #prepared = new WeakSet<Session>();
  /** Sessions whose directories are watched, the last one to write last. */
  readonly #watched = new Set<string>();
  readonly #stop = new AbortController();

  constructor(parts: UndoParts) {
    this.#parts = parts;
  }

  // ── turns ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes the first state of a large directory while the model thinks, so that the first write need
   * not wait for all of it. Never throws.
   */
  async prepare(session: Session, { signal }: Turn): Promise<void> {
    const { trust, approval } = session.state;
    if (trust !== "trusted" || approval === "read_only" || this.#prepared.has(session)) return;
    this.#prepared.add(session);
    try {
      if (this.#stores.has(session.id) || lookOver(session.state.workdir) !== undefined) return;
      await this.#alone(session, ({ store }) => store.take(signal));
      this.#watchSoon(session);
    } catch {
      // The first write says what is wrong.
      if (signal.aborted) this.#prepared.delete(session);
    }
  }

  /** Has changes of a large directory noted. Nothing waits for it. */
  #watchSoon({ id }: Session): void {
    const store = this.#stores.get(id);
    if (store === undefined) return;
    store.watch(this.#stop.signal).then((is_watched) => {
      this.#watched.delete(id);
      if (!is_watched || this.#stores.get(id) !== store) return;
      this.#watched.add(id);
      for (const oldest of [...this.#watched].slice(0, -WATCHED_MAX)) {
        this.#watched.delete(oldest);
        this.#stores.get(oldest)?.unwatch();
      }
    }, () => this.#watched.delete(id));
  }

  /** Ends what goes on in the background. */
  stop(): void {
    this.#stop.abort();
  }

  /** Stores the state before the first write of a turn. Never throws. */
  async beforeWrite(session: Session, turn: Turn): Promise<void> {
    let kept = this.#before.get(turn);
    if (kept === undefined) {
      kept = this.#keep(session, turn.turn_id, "before", turn.signal);
      this.#before.set(turn, kept);
    }
    await kept;
  }

  /** Stores the state after a turn that may have written. Never throws. */
  async afterTurn(session: Session, turn: Turn): Promise<void> {
    if (await this.#before.get(turn) !== true) return;
    const stop = new AbortController();
    const kept = this.#keep(session, turn.turn_id, "after", stop.signal);
    kept.then(() => this.#watchSoon(session));
    if (!turn.signal.aborted || await within(kept, CUT_OFF_MS)) {
      await kept;
      return;
    }
    stop.abort(new Error("the turn was cut off"));
    await kept;
  }

  async #keep(
    session: Session,
    turn_id: string,
    moment: "before" | "after",
    signal: AbortSignal,
  ): Promise<boolean> {
    if (session.state.trust !== "trusted" || this.#given_up.has(session.id)) return false;
    try {
      const { state, excluded } = await this.#alone(session, async (kept) => {
        return await kept.store.take(signal, { trusts_watch: true });
      });
      const known = state === session.state.undo.last;
      const told = session.emit("files.kept", { turn_id, moment, state, ...named(excluded) });
      // The journal already names this state, so this record may be lost.
      if (known) told.catch(() => {});
      else await told;
      return true;
    } catch (error) {
      if (!signal.aborted) await this.#noteProblem(session, turn_id, moment, error).catch(() => {});
      return false;
    }
  }

  async #noteProblem(
    session: Session,
    turn_id: string,
    moment: "before" | "after",
    error: unknown,
  ): Promise<void> {
    const problem = messageOf(error);
    this.#parts.log.warn("cannot keep the state of a session's files", {
      session_id: session.id,
      error: problem,
    });
    if (error instanceof SvcError && LASTING.has(error.code)) {
      this.#given_up.set(session.id, problem);
    }
    if (session.state.undo.problem === problem) return;
    await session.emit("files.kept", { turn_id, moment, problem });
    const text = `Changes of files cannot be undone: ${problem}`;
    await session.emit("lane.note", {
      lane_id: MAIN_LANE,
      text,
      reason_code: UNDO_UNAVAILABLE,
    });
  }

  // ── rewinding ────────────────────────────────────────────────────────────────────────────────

  /**
   * Rewinds files, conversation or both to a message, or undoes the last rewind.
   * @throws {SvcError} conflict while a turn runs, or when changes of others would be lost;
   * not_found; journal_trimmed; unavailable
   */
  async rewind(session: Session, options: RewindOptions): Promise<RewindResult> {
    const { what, undo } = options;
    requireTrusted(session);
    return await session.alone(async () => {
      const plan = undo ? await undoPlan(session, options) : await rewindPlan(session, options);
      if (!plan.files) {
        return options.dry_run ? previewOf(plan) : await this.#record(session, plan, options);
      }
      const { state } = plan;
      if (session.state.undo.last === undefined || state === undefined) {
        throw nothing(session, what);
      }
      const compare = (now: Now) => compareWith(session.state.undo, { ...plan, state }, now);
      return await this.#alone(
        session,
        (kept) => this.#restore(session, kept, { ...plan, compare }, options),
      );
    });
  }

  /**
   * Brings a file, or the files that a turn changed, back to before that turn.
   * @throws {SvcError} as {@linkcode Undo.rewind}
   */
  async undoFile(session: Session, options: UndoFileOptions): Promise<RewindResult> {
    requireTrusted(session);
    return await session.alone(async () => {
      if (session.state.undo.last === undefined) throw nothing(session, "files");
      return await this.#alone(session, async (kept) => {
        const plan = await filePlan(session, kept.store, options);
        return await this.#restore(session, kept, plan, options);
      });
    });
  }

  async #restore(
    session: Session,
    kept: Kept,
    plan: FilePlan,
    options: RestoreOptions,
  ): Promise<RewindResult> {
    const signal = new AbortController().signal;
    const { store } = kept;
    const { state: from } = await store.take(signal);
    const { force } = options;
    const compared = await plan.compare({ store, from, signal });
    const { foreign } = compared;
    const differences = withoutForeignDirectories(compared, force);
    const blocked = new Set(inTheWay(kept, differences));
    const choice = choose(differences, { only: plan.only?.path, foreign, blocked, force });
    if (options.dry_run) return previewOf(plan, choice);
    if (choice.refusal !== undefined) throw choice.refusal;
    const { chosen } = choice;
    const to = chosen.length === compared.differences.length && plan.state !== undefined
      ? plan.state
      : await store.combine(from, chosen, signal);
    const rewind_id = this.#parts.ids.next("rewind");
    let result: RewindResult | undefined;
    const commit = async () => {
      result = await this.#record(session, plan, options, { rewind_id, from, to, ...choice });
    };
    if (chosen.length === 0) await commit();
    else {
      const mark = join(this.#parts.marks, session.id);
      ensurePrivateDir(this.#parts.marks);
      Deno.writeTextFileSync(mark, "", { mode: 0o600 });
      await restoreFiles(kept, { rewind_id, from, to }, chosen, commit);
      Deno.removeSync(mark);
    }
    return result!;
  }

  async #record(
    session: Session,
    { target, known, undo_of, only }: Plan,
    { by }: RestoreOptions,
    done?: Restored,
  ): Promise<RewindResult> {
    const rewind_id = done?.rewind_id ?? this.#parts.ids.next("rewind");
    const { message_id, seq: to_seq } = target;
    await session.emit("session.rewound", {
      rewind_id,
      message_id,
      to_seq,
      by,
      files: done && filesEvent(done),
      conversation: known,
      undo_of: undo_of?.rewind_id,
      only,
    });
    return { rewind_id, refused: false, ...answerOf({ target, known }, done) };
  }

  // ── forks ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Makes a fork in a worktree of its own, with the files of before an event, or of now.
   * @throws {SvcError} validation outside of a repository; conflict; unavailable
   */
  async forkIntoWorktree(
    session: Session,
    before_seq: number | undefined,
    { create, signal }: Pick<WorktreeFork, "create" | "signal">,
  ): Promise<Session> {
    return await this.#alone(session, async ({ store }) => {
      const state = knownState(session.state.undo, before_seq) ?? (await store.take(signal)).state;
      return await forkIntoWorktree(await this.#forkParts(), { session, state, create, signal });
    });
  }

  async #forkParts(): Promise<ForkParts> {
    const { hub, fork_marks: marks, hidden, sandbox, closed } = this.#parts;
    return { hub, marks, hidden, sandbox: await sandbox(), closed };
  }

  // ── stores ───────────────────────────────────────────────────────────────────────────────────

  /** Uses a session's store exclusively. */
  async withStore<T>(
    session: Session,
    work: (store: FileStore) => Promise<T>,
  ): Promise<T> {
    return await this.#alone(session, ({ store }) => work(store));
  }

  async #alone<T>(session: Session, work: (kept: Kept) => Promise<T>): Promise<T> {
    const before = this.#work.get(session.id) ?? Promise.resolve();
    const done = before.catch(() => {}).then(async () => {
      const kept = await this.#kept(session);
      await this.#recover(session, kept);
      return await work(kept);
    });
    this.#work.set(session.id, done);
    return await done;
  }

  async #kept(session: Session): Promise<Kept> {
    const { workdir } = session.state;
    const sandbox = await this.#parts.sandbox();
    const dir = await storePath(session, this.#parts);
    const has_siblings = isBeside(dir, session);
    const place = { dir, workdir, sandbox, has_siblings };
    let store = this.#stores.get(session.id);
    if (store === undefined) {
      if (!hasGit(place)) {
        const windows = Deno.build.os === "windows";
        const why = windows ? "is not used on Windows" : sandbox.absence("git", workdir);
        throw new SvcError("unavailable", `undo needs git, which ${why}`);
      }
      store = FileStore.open(place, this.#excluded(workdir));
      this.#stores.set(session.id, store);
    }
    return { store, dir, workdir, hidden: this.#parts.hidden(workdir) };
  }

  #excluded(workdir: string): string[] {
    const inside = this.#parts.own.filter((path) => path !== workdir && isWithin(path, workdir));
    return [".svc/", ...inside.map((path) => pattern(path.slice(workdir.length)))];
  }

  async #recover(session: Session, kept: Kept): Promise<void> {
    if (!isHalfDone(kept.dir)) return;
    const { rewinds } = session.state.undo;
    const isDone = (id: string) => rewinds.some(({ rewind_id }) => rewind_id === id);
    const taken_back = await recoverFiles(kept, isDone);
    await Deno.remove(join(this.#parts.marks, session.id)).catch(() => {});
    if (taken_back) {
      this.#parts.log.warn("took back a rewind that was cut off", { session_id: session.id });
    }
  }

  /** Completes or undoes the rewinds and forks that an earlier daemon left incomplete. */
  async recoverAll(): Promise<void> {
    await recoverForks(await this.#forkParts(), this.#parts.log);
    for (const { name } of readDirIfAny(this.#parts.marks)) {
      try {
        const session = await this.#parts.hub.get(name);
        await this.#alone(session, () => Promise.resolve());
        await Deno.remove(join(this.#parts.marks, name)).catch(() => {});
      } catch (error) {
        this.#parts.log.error("cannot end a rewind that was cut off", {
          session_id: name,
          error: messageOf(error),
        });
      }
    }
  }

  sessionMoved(id: string): void {
    this.#forgetStore(id);
    this.#given_up.delete(id);
  }

  #forgetStore(id: string): void {
    this.#stores.get(id)?.close();
    this.#stores.delete(id);
    this.#watched.delete(id);
  }

  sessionEnded(id: string): void {
    this.#forgetStore(id);
    this.#work.delete(id);
    this.#given_up.delete(id);
  }
}

/** A restoration that was applied. */
interface Restored {
  rewind_id: string;
  from: string;
  to: string;
  chosen: readonly FileDifference[];
  kept: readonly KeptPath[];
}

function requireTrusted({ id, state }: Session): void {
  if (state.trust === "trusted") return;
  throw new SvcError("permission_denied", `session ${id} works for others`);
}

/** Returns the state before an event; undefined for the state of now. */
function knownState({ turns, last }: UndoState, seq: number | undefined): string | undefined {
  if (seq === undefined) return undefined;
  return turns.find((turn) => turn.seq > seq)?.before ?? last;
}

function named(excluded: readonly Exclusion[]) {
  if (excluded.length === 0) return {};
  return { excluded: excluded.slice(0, NAMED), excluded_count: excluded.length };
}

/** Escapes a path for .gitignore. */
function pattern(path: string): string {
  return path.replace(/[\\*?[\]!# ]/g, "\\$&");
}

/** Leaves out empty directories that somebody made or removed since: they are not worth a question. */
function withoutForeignDirectories(
  { differences, foreign }: Comparison,
  force: Force,
): FileDifference[] {
  const isLeft = (it: FileDifference) => force !== true && isDirectory(it) && foreign.has(it.path);
  return differences.filter((it) => !isLeft(it));
}

function filesEvent({ from, to, chosen, kept }: Restored) {
  const changed = withoutDirectoriesAbove(chosen).length;
  if (kept.length === 0) return { from, to, changed };
  const names = kept.slice(0, NAMED).map(({ path }) => path);
  return { from, to, changed, kept: names, kept_count: kept.length };
}

function previewOf(plan: Plan, choice?: Choice): RewindResult {
  return { refused: choice?.refusal !== undefined, ...answerOf(plan, choice) };
}

function answerOf(
  { target: { message_id }, known }: Pick<Plan, "target" | "known">,
  { chosen, kept }: Pick<Restored, "chosen" | "kept"> = { chosen: [], kept: [] },
) {
  const shown = withoutDirectoriesAbove(chosen);
  return {
    message_id,
    files: shown.slice(0, PATHS_NAMED).map(({ path }) => path),
    files_changed: shown.length,
    files_deleted: shown.filter(({ to }) => to === undefined).length,
    kept: kept.slice(0, PATHS_NAMED),
    kept_count: kept.length,
    conversation: known !== undefined,
  };
}
