/**
 * One session: its conversation, its turns, its life. What happens in it goes through its writer,
 * and its state is what the events made of it.
 */
import { dirname } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { couldBeSameDirectory, directoryAt } from "../os/directory_identity.ts";
import { exists } from "../os/files.ts";
import type { Log } from "../os/log.ts";
import { within } from "../base/within.ts";
import type { Attachments } from "./attachments.ts";
import { Approvals } from "./approvals.ts";
import {
  type Compacted,
  type CutBy,
  type EventData,
  type EventType,
  MAIN_LANE,
  type SendOptions,
  type SessionEvent,
  type StopReason,
} from "../protocol/events.ts";
import type { Ids } from "./ids.ts";
import type { Rights } from "./index_file.ts";
import type { Journal } from "./journal.ts";
import { Lanes } from "./lanes.ts";
import type { Retention } from "./retention.ts";
import { KEEP_MIN, type Kept, type Snapshots } from "./snapshots.ts";
import type { QueuedMessage, SessionState } from "./session_state.ts";
import { findLane, messageWaits } from "./state_steps.ts";
import { isTakenBack } from "./undo_state.ts";
import type { Deltas, Published, Sink, Subscription } from "./subscription.ts";
import type { Transcript } from "./transcript.ts";
import { Writer } from "./writer.ts";

/** How a turn ended, as its runner sees it. */
export interface TurnEnd {
  stop_reason: StopReason;
  error?: string;
}

/** What a session needs from outside. */
export interface SessionParts {
  ids: Ids;
  log: Log;
  /** Carries out one turn: calls the model, runs tools, emits what happens. */
  runTurn(session: Session, turn: Turn): Promise<TurnEnd>;
  /** Whether a turn that was cut off goes on by itself; by default none does. */
  goesOn?(session: Session, after: CutBy): boolean;
  /** Ends what its model has running in the background; a session that ends waits for it. */
  endBackground?(session: Session): Promise<void>;
  /** Makes the conversation shorter between two turns; undefined when nothing is worth leaving out. */
  compact?(session: Session, turn: Turn): Promise<Compacted | undefined>;
  /** Keeps what sessions have come to, so that none has to be read from its beginning. */
  snapshots?: Snapshots;
  /** Called after each commit with its events; `durable` when the journal was flushed. */
  onCommit(session: Session, events: readonly Published[], durable: boolean): void;
}

/** The turn in flight. */
export interface Turn {
  readonly turn_id: string;
  /** Fires when the turn must stop at once, and when it has ended. */
  readonly signal: AbortSignal;
  /** Fires when it should stop at the next safe point. */
  readonly soft: AbortSignal;
  /** Whether it was begun before and was cut off. */
  readonly continued: boolean;
  /** Whether it is being left for the next daemon, which continues it. */
  readonly left: boolean;
}

/** What the loop of a turn uses of its session. */
export interface TurnSession extends
  Pick<
    Session,
    | "id"
    | "state"
    | "journal"
    | "emit"
    | "emitText"
    | "emitReasoning"
    | "emitLaneText"
    | "attachments"
    | "transcript"
    | "published_seq"
    | "fresh"
    | "holdFresh"
    | "takeFresh"
    | "compactIfAsked"
  > {
  readonly lanes: Pick<Lanes, "open" | "move" | "onKilled">;
  readonly approvals: Pick<Approvals, "ask" | "request" | "settle" | "withdraw">;
  /** The conversation that its calls read files for; default: the session's own. */
  readonly reader?: string;
}

interface RunningTurn extends Turn {
  left: boolean;
  hard_stop: AbortController;
  soft_stop: AbortController;
  /** Why it was asked to stop. */
  stop_reason?: StopReason;
  /** seq up to which its last model call has seen the messages; undefined before the first call. */
  taken_seq?: number;
  /** seq up to which messages can no longer be taken back: it is about to answer them. */
  held_seq?: number;
  /** How it ended, as it is recorded. */
  end?: TurnEnd;
  ended: Promise<void>;
}

/** How long a killed or paused session's tools may take to stop. */
const STOP_GRACE_MS = 5_000;
/** How long the tools that have not stopped by then are waited for, while they are killed. */
const KILL_GRACE_MS = 2_000;
/** How soon, and how seldom at last, a turn whose end could not be recorded is tried to be closed. */
const MEND_MIN_MS = 500;
const MEND_MAX_MS = 30_000;
/** How often in a row a crash may cut a turn off before it no longer goes on by itself. */
const CRASHES_MAX = 3;
/** Bytes of a turn's events after which a snapshot is kept without waiting for its end. */
const KEEP_BEHIND = 8 * 1024 * 1024;

export class Session {
  readonly id: string;
  readonly state: SessionState;
  readonly journal: Journal;
  readonly lanes: Lanes;
  /** The rights that are about to be recorded. */
  readonly configuring: Set<Rights> = new Set();
  readonly #parts: SessionParts;
  readonly #writer: Writer;
  readonly approvals: Approvals;
  #turn: RunningTurn | undefined;
  /** What has cut off the turn that is open in the journal and waits to go on. */
  #left: CutBy | undefined;
  #transcript: Transcript | undefined;
  /** What was last read of it at rest, as long as there is memory for it. */
  #rested: { transcript: WeakRef<Transcript>; seq: number } | undefined;
  #attachments: Promise<Attachments> | undefined;
  /** The seq of the last snapshot, and the size of the journal from which on another one is due. */
  #kept_seq: number | undefined;
  #keep_from = KEEP_MIN;
  #keeping: Promise<void> | undefined;
  /** The session is being deleted: keep nothing. */
  #unkept = false;
  #sending = new Map<string, Promise<{ message_id: string; seq: number }>>();
  /** The messages that are about to be taken back, and when that is recorded. */
  #withdrawing = new Set<string>();
  #withdrawn: Promise<unknown> = Promise.resolve();
  #closing_stray: Promise<void> | undefined;
  /** The end was asked for: nothing new is taken. */
  #closing = false;
  /** session.paused is on its way: no turn begins before it. */
  #pausing: Promise<string> | undefined;
  /** Paused, or about to be, because the daemon is stopping. */
  #stopping = false;
  #resuming: Promise<string> | undefined;
  /** A compaction that was asked for and has not been done. */
  #compaction: PromiseWithResolvers<Compacted | undefined> | undefined;
  /** What tries again to record the end of a turn; nothing begins before it is recorded. */
  #mending: number | undefined;

  /** @param kept the snapshot that the session was read from. */
  constructor(state: SessionState, journal: Journal, parts: SessionParts, kept?: Kept) {
    this.id = state.id;
    this.state = state;
    this.journal = journal;
    this.#parts = parts;
    if (kept !== undefined) this.#noteKept(kept);
    this.#writer = new Writer(state, journal, {
      onCommit: (events, durable) => this.#onCommit(events, durable),
      onFailed: (error) => this.#onFailed(error),
    });
    this.lanes = new Lanes(state, this.#writer);
    this.approvals = new Approvals({
      state,
      writer: this.#writer,
      lanes: this.lanes,
      ids: parts.ids,
      goOn: () => this.goOn() || this.#turn !== undefined,
      async answered(approval_id) {
        return await (await import("./answered.ts")).alreadyAnswered(approval_id, journal);
      },
    });
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────

  /** Records an event; see {@linkcode Writer.emit}. */
  emit<T extends EventType>(type: T, data: EventData[T]): Promise<SessionEvent> {
    return this.#writer.emit(type, data);
  }

  /** The files of its images and documents. */
  attachments(): Promise<Attachments> {
    return this.#attachments ??= import("./attachments.ts")
      .then(({ Attachments }) => new Attachments(dirname(this.journal.path)));
  }

  /** Records text of the main lane; nothing waits for it. */
  emitText(turn_id: string, text: string): void {
    // What a turn still says after it was cut off could follow session.paused.
    if (!this.#turn?.signal.aborted) this.#writer.emitText(turn_id, text);
  }

  /** Records reasoning of the model; nothing waits for it. */
  emitReasoning(turn_id: string, text: string): void {
    if (!this.#turn?.signal.aborted) this.#writer.emitReasoning(turn_id, text);
  }

  /** Records output of another lane; nothing waits for it. */
  emitLaneText(lane_id: string, text: string, redraws?: number): void {
    this.#writer.emitLaneText(lane_id, text, redraws);
  }

  /** Makes a subscription; see {@linkcode Writer.subscribe}. */
  subscribe(sink: Sink, options: { since_seq?: number; deltas?: Deltas }): Subscription {
    return this.#writer.subscribe(sink, options);
  }

  /** seq of the last event that was published. */
  get published_seq(): number {
    return this.#writer.published_seq;
  }

  /** Whether no event will follow. */
  get final(): boolean {
    return this.#writer.final;
  }

  #onCommit(events: readonly Published[], durable: boolean): void {
    // What is taken back leaves no trace in the conversation: it is read again without it.
    if (events.some(isRewindOfConversation)) this.#transcript = undefined;
    for (const event of events) this.#transcript?.apply(event);
    this.#parts.onCommit(this, events, durable);
    // What a long turn has come to is kept while it runs.
    if (this.#transcript !== undefined && this.journal.size > this.#keep_from + KEEP_BEHIND) {
      void this.keep();
    }
  }

  #onFailed(error: SvcError): void {
    this.#parts.log.error(error.message, { session_id: this.id });
    this.#closing = false;
    this.#turn?.hard_stop.abort(error);
  }

  /** The conversation, read from the journal when it is not at hand; kept while a turn needs it. */
  async transcript(): Promise<Transcript> {
    await this.#withdrawn;
    return (await this.#readTranscript()).transcript;
  }

  async #readTranscript(): Promise<{ transcript: Transcript; seq: number }> {
    while (this.#transcript === undefined) {
      const rested = this.#rested?.transcript.deref();
      if (rested && this.#rested?.seq === this.state.last_seq && this.#turn === undefined) {
        return { transcript: rested, seq: this.state.last_seq };
      }
      // Loaded here: a daemon that starts reads no conversation.
      const { Transcript } = await import("./transcript.ts");
      const kept = await this.#keptTranscript();
      const transcript = kept?.transcript ?? new Transcript();
      let seq = kept?.seq ?? 0;
      for await (const event of this.journal.read(seq)) {
        if (event.seq > this.state.last_seq) break;
        if (!isTakenBack(this.state.undo, event.seq)) transcript.apply(event);
        seq = event.seq;
      }
      // Events committed meanwhile are missing from it: read again rather than merge.
      if (seq !== this.state.last_seq) continue;
      if (this.#turn === undefined) {
        this.#rested = { transcript: new WeakRef(transcript), seq };
        return { transcript, seq };
      }
      this.#transcript = transcript;
    }
    return { transcript: this.#transcript, seq: this.state.last_seq };
  }

  /** The conversation of the last snapshot, if it is of this journal and not behind its checkpoint. */
  async #keptTranscript() {
    const kept_seq = this.#kept_seq;
    if (kept_seq === undefined || kept_seq < this.journal.trimmed_seq) return undefined;
    // It may have what was taken back since, or lack what was given back.
    if (kept_seq < this.state.undo.changed_seq) return undefined;
    const kept = await this.#parts.snapshots?.readTranscript(this.id);
    return kept?.seq === kept_seq ? kept : undefined;
  }

  /** Keeps a snapshot of what the session has come to, if its journal has grown enough. */
  async keep(): Promise<void> {
    const { snapshots, log } = this.#parts;
    const { journal, state } = this;
    if (this.#unkept || snapshots === undefined) return;
    if (this.#keeping !== undefined || journal.size < this.#keep_from) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#keeping = promise;
    try {
      const { transcript, seq } = await this.#readTranscript();
      // Something happened since; there will be another time.
      if (transcript !== this.#transcript && seq !== state.last_seq) return;
      this.#noteKept(await snapshots.write(state, transcript, journal));
    } catch (error) {
      log.error("cannot write a session's snapshot", {
        session_id: this.id,
        error: messageOf(error),
      });
    } finally {
      this.#keeping = undefined;
      resolve();
    }
  }

  /** Stops writing snapshots; resolves when none is being written. */
  async stopKeeping(): Promise<void> {
    this.#unkept = true;
    await this.#keeping;
  }

  #noteKept({ seq, keep_from }: Kept): void {
    this.#kept_seq = seq;
    this.#keep_from = keep_from;
  }

  /** Gives back what only a busy session needs, if nothing happened for `rest_ms`. */
  async rest(rest_ms: number): Promise<boolean> {
    const quiet = () => this.#turn === undefined && this.#writer.quietFor(rest_ms);
    if (!quiet()) return false;
    await this.keep();
    if (!quiet()) return false;
    this.#transcript = undefined;
    this.journal.release();
    return true;
  }

  /** Keeps the journal within its limits; see {@linkcode Writer.retain}. */
  async retain(limits: Retention): Promise<boolean> {
    if (!(await this.#writer.retain(limits))) return false;
    const { keepNamed } = await import("./attachments.ts");
    await keepNamed(await this.attachments(), this.journal);
    // The places that the last snapshot knows are gone.
    this.#noteKept({ seq: -1, keep_from: 0 });
    await this.keep();
    return true;
  }

  /** Whether its journal and its directory are where it knows them, as far as can be seen. */
  get in_place(): boolean {
    const { workdir, directory } = this.state;
    try {
      if (!exists(this.journal.path)) return false;
      if (this.final) return true;
      if (directory === undefined) return exists(workdir);
    } catch {
      // It may not be looked at now; what needs it says so.
      return true;
    }
    const here = directoryAt(workdir);
    return here !== undefined && couldBeSameDirectory(here, directory);
  }

  /** Has the session go on in another directory, or at another path of its own. */
  async moveTo(journal_path: string, moved: EventData["session.moved"]): Promise<void> {
    await this.#writer.moveTo(journal_path);
    this.#attachments = undefined;
    await this.emit("session.moved", moved);
  }

  /**
   * Does what no turn may run beside; a paused session has none. Its journal is closed before.
   *
   * @throws {SvcError} `ended`, or `conflict` while it is at work; what `work` throws.
   */
  async atRest(work: () => Promise<void>): Promise<void> {
    this.#requireOpen();
    const closed = async () => {
      await this.#writer.moveTo(this.journal.path);
      await work();
    };
    await (this.state.state === "paused" ? closed() : this.alone(closed));
  }

  /** Whether somebody follows it, or a turn runs: those are told of a stop. */
  get watched(): boolean {
    return this.#turn !== undefined || this.#left !== undefined || this.#writer.watched;
  }

  // ── the turn ─────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes a message: starts a turn, or steers the one in flight.
   *
   * @param more its limits; a second call with the same client_message_id sends nothing and answers
   * the same.
   * @throws {SvcError} `ended`, or `conflict` when the session is paused.
   */
  send(text: string, more: SendOptions = {}): Promise<{ message_id: string; seq: number }> {
    this.#requireRunning();
    const { client_message_id } = more;
    if (client_message_id === undefined) return this.#send(text, more);
    const sent = this.state.sent.get(client_message_id);
    if (sent !== undefined) return Promise.resolve(sent);
    let sending = this.#sending.get(client_message_id);
    if (sending === undefined) {
      sending = this.#send(text, more)
        .finally(() => this.#sending.delete(client_message_id));
      this.#sending.set(client_message_id, sending);
    }
    return sending;
  }

  async #send(text: string, more: SendOptions) {
    this.#writer.requireWritable();
    await this.#closeStrayTurn("error");
    this.#mended();
    const message_id = this.#parts.ids.next("msg");
    const { seq } = await this.emit("user.message", { message_id, text, ...more });
    // It steers the turn that waits to go on.
    if (!this.goOn()) this.#startTurn();
    return { message_id, seq };
  }

  /** Whether a message waits that no model call has seen. */
  get fresh(): boolean {
    const taken_seq = this.#turn?.taken_seq ?? 0;
    return this.state.queued.some(({ message_id, seq }) =>
      seq > taken_seq && !this.#withdrawing.has(message_id)
    );
  }

  /** As {@linkcode Session.fresh}; those that wait can no longer be taken back. */
  holdFresh(): boolean {
    const { fresh } = this;
    if (fresh && this.#turn !== undefined) this.#turn.held_seq = this.state.last_seq;
    return fresh;
  }

  /**
   * Counts the messages that wait as seen: a model call is built from them.
   *
   * @returns false while some are being taken back: the conversation is to be read again first.
   */
  takeFresh(): boolean {
    if (this.#withdrawing.size > 0) return false;
    if (this.#turn !== undefined) this.#turn.taken_seq = this.state.last_seq;
    return true;
  }

  /**
   * Takes messages back that wait and that no turn has begun to answer. They are not answered, also
   * not after a restart.
   *
   * @param message_ids which; by default all. Others than those that wait are passed over.
   * @returns those that were taken back, oldest first.
   * @throws {SvcError} `ended`.
   */
  async withdraw(by: string, message_ids?: readonly string[]): Promise<QueuedMessage[]> {
    this.#requireOpen();
    // What was sent before is meant too.
    await Promise.allSettled(this.#sending.values());
    const { queued, taken_seq, turn: { started_seq = 0 } = {} } = this.state;
    const { taken_seq: seen_seq = 0, held_seq = 0 } = this.#turn ?? {};
    const from = Math.max(taken_seq, started_seq, seen_seq, held_seq);
    const taken = queued.filter(({ message_id, seq }) =>
      seq > from && !this.#withdrawing.has(message_id) &&
      (message_ids?.includes(message_id) ?? true)
    );
    if (taken.length === 0) return [];
    for (const { message_id } of taken) this.#withdrawing.add(message_id);
    const messages = taken.map(({ message_id, seq }) => ({ message_id, seq }));
    const recorded = this.emit("user.withdrawn", { messages, by });
    this.#withdrawn = Promise.allSettled([this.#withdrawn, recorded]);
    try {
      await recorded;
    } finally {
      for (const { message_id } of taken) this.#withdrawing.delete(message_id);
      // If it could not be recorded, they wait as before.
      this.#startTurn();
    }
    return taken;
  }

  /** Begins the turn of a message that waits, if one does: after a restart nothing else would. */
  takeUp(): void {
    this.#startTurn();
  }

  #startTurn(): void {
    if (!this.fresh || this.#left !== undefined || !this.#mayBegin()) return;
    this.#begin((turn) => this.#runTurn(turn));
  }

  #mayBegin(): boolean {
    return this.#turn === undefined && !this.#closing && this.#pausing === undefined &&
      this.#mending === undefined && this.state.state === "running";
  }

  /** Has the session at work: no turn begins before it is over. */
  #begin(work: (turn: RunningTurn) => Promise<void>, turn_id?: string): void {
    const hard_stop = new AbortController();
    const soft_stop = new AbortController();
    const turn: RunningTurn = {
      turn_id: turn_id ?? this.#parts.ids.next("turn"),
      continued: turn_id !== undefined,
      left: false,
      signal: hard_stop.signal,
      soft: AbortSignal.any([soft_stop.signal, hard_stop.signal]),
      hard_stop,
      soft_stop,
      ended: Promise.resolve(),
    };
    this.#turn = turn;
    turn.ended = work(turn).finally(() => {
      this.#turn = undefined;
      this.approvals.turnEnded();
      // Its end is not in the journal, so no commit tells of it.
      if (this.#mending !== undefined) this.#parts.onCommit(this, [], false);
      this.#startCompaction();
      this.#startTurn();
    });
  }

  // ── a turn that was cut off ──────────────────────────────────────────────────────────────────

  /** Whether its turn was cut off and waits to go on: {@linkcode Session.goOn} has it do so. */
  get waitsToGoOn(): boolean {
    return this.#left !== undefined;
  }

  /** Whether its last turn was cut off and can go on. */
  get cutOff(): boolean {
    if (this.#left !== undefined) return true;
    const { cut } = this.state;
    return cut !== undefined && cut.started_seq > this.journal.trimmed_seq && this.#goesOn("asked");
  }

  /** Has the turn go on that waits for it. @returns whether one does. */
  goOn(): boolean {
    const after = this.#left;
    const { turn } = this.state;
    if (after === undefined || turn === undefined || !this.#mayBegin()) return false;
    this.#left = undefined;
    this.#begin((it) => this.#runTurn(it, after), turn.turn_id);
    return true;
  }

  /**
   * Has the last turn go on by hand, if it was cut off: one that waits for it, or one that has ended as
   * interrupted.
   *
   * @returns its id.
   * @throws {SvcError} `ended`; `conflict` when the session is paused, a turn runs, or there is none
   * that was cut off.
   */
  async continueTurn(): Promise<string> {
    this.#requireRunning();
    this.#writer.requireWritable();
    const { cut } = this.state;
    const waiting = this.state.turn?.turn_id;
    if (waiting !== undefined && this.goOn()) return waiting;
    if (this.#turn !== undefined) {
      throw new SvcError("conflict", `a turn of session ${this.id} is running`);
    }
    if (cut === undefined || !this.#mayBegin()) {
      throw new SvcError("conflict", `session ${this.id} has no turn that was cut off`, {
        hint: "send a message",
      });
    }
    if (!this.cutOff) {
      throw new SvcError("conflict", `turn ${cut.turn_id} cannot go on`, {
        hint: "send a message that says what to do next; [agent] continue must not be never",
      });
    }
    const begun = Promise.withResolvers<void>();
    this.#begin((turn) => this.#runTurn(turn, "asked", begun), cut.turn_id);
    await begun.promise;
    return cut.turn_id;
  }

  #goesOn(after: CutBy): boolean {
    return this.#parts.goesOn?.(this, after) ?? false;
  }

  /** Leaves a turn open in the journal for the next daemon. */
  async #leave(): Promise<void> {
    await this.#closeLanes("svc was stopped", "interrupted");
    await this.#writer.written();
    this.#left = "stop";
  }

  // ── compaction ───────────────────────────────────────────────────────────────────────────────

  /**
   * Makes the conversation that the model is given shorter: at once, or before the next model call of
   * the turn in flight.
   *
   * @returns what was recorded; undefined when there is nothing worth leaving out.
   * @throws {SvcError} `ended`, or `conflict` when the session is paused, or stopped before it is done.
   */
  compact(): Promise<Compacted | undefined> {
    this.#requireRunning();
    this.#compaction ??= Promise.withResolvers();
    const { promise } = this.#compaction;
    this.#startCompaction();
    return promise;
  }

  /** Does the compaction that was asked for, if one was. */
  async compactIfAsked(run: () => Promise<Compacted | undefined>): Promise<void> {
    const asked = this.#compaction;
    if (asked === undefined) return;
    this.#compaction = undefined;
    try {
      asked.resolve(await run());
    } catch (error) {
      asked.reject(this.#turn?.soft.aborted ? this.#stoppedError() : error);
    }
  }

  #startCompaction(): void {
    if (this.#compaction === undefined || this.#turn !== undefined) return;
    // The turn that goes on does it, between two of its steps.
    if (this.#left !== undefined && this.state.state === "running") return;
    if (this.#closing || this.#pausing !== undefined || this.state.state !== "running") {
      this.#compaction.reject(this.#stoppedError());
      this.#compaction = undefined;
      return;
    }
    this.#begin((turn) => this.compactIfAsked(async () => await this.#parts.compact?.(this, turn)));
  }

  /**
   * Has the session at work on something that is not a turn; a message that comes meanwhile waits.
   *
   * @throws {SvcError} `ended`, or `conflict` while a turn runs or while it is paused
   * @throws what `work` throws
   */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    this.#requireRunning();
    const stray = this.state.turn !== undefined || messageWaits(this.state);
    if (this.#turn !== undefined || stray || this.#pausing !== undefined) {
      throw new SvcError("conflict", `session ${this.id} is at work`, {
        hint: "wait for the end of the turn, or cancel it with session.cancel",
      });
    }
    const done = Promise.withResolvers<T>();
    this.#begin(() => {
      const worked = work();
      worked.then(done.resolve, done.reject);
      return worked.then(() => {}, () => {});
    });
    return await done.promise;
  }

  #stoppedError(): SvcError {
    return new SvcError("conflict", `session ${this.id} was stopped before it was compacted`);
  }

  // ── the turn's end ───────────────────────────────────────────────────────────────────────────

  /** @param after what has cut it off, if it goes on; `begun` settles when that is recorded. */
  async #runTurn(
    turn: RunningTurn,
    after?: CutBy,
    begun?: PromiseWithResolvers<void>,
  ): Promise<void> {
    const { turn_id } = turn;
    let end: TurnEnd;
    if (after === undefined) turn.held_seq = this.state.last_seq;
    try {
      try {
        if (after === undefined) {
          await this.emit("turn.started", { turn_id, model: this.state.model });
        } else await this.emit("turn.continued", { turn_id, after });
        begun?.resolve();
      } catch (error) {
        begun?.reject(error);
        throw error;
      }
      // A question that is still open has it blocked.
      if (this.state.activity === "working") {
        await this.lanes.move(MAIN_LANE, "running", "a turn started", "turn_started");
      }
      end = await this.#parts.runTurn(this, turn);
    } catch (error) {
      end = { stop_reason: "error", error: messageOf(error) };
    }
    // What it was asked to do outranks how its parts failed while they were torn down; a turn that
    // reached its end before it was cut off is whole.
    if (turn.stop_reason !== undefined && (turn.signal.aborted || end.stop_reason !== "ok")) {
      end = { stop_reason: turn.stop_reason };
    }
    turn.end = end;
    // Nothing that it began outlives it.
    turn.hard_stop.abort(new DOMException("the turn has ended", "AbortError"));
    try {
      if (turn.left && end.stop_reason === "interrupted" && this.state.turn !== undefined) {
        return await this.#leave();
      }
      await this.#completeTurn(turn.turn_id, end, this.#takenBy(turn, end.stop_reason));
    } catch (error) {
      // Ended meanwhile, or unwritable.
      this.#parts.log.warn("could not record turn.completed", {
        session_id: this.id,
        error: messageOf(error),
      });
      this.#mendIn(MEND_MIN_MS);
    }
  }

  /** Has the journal say that no turn runs, and a message that waits answered, once it can be written. */
  #mendIn(ms: number): void {
    if (this.final || this.#mending !== undefined) return;
    this.#mending = setTimeout(async () => {
      try {
        await this.#closeStrayTurn("error");
        this.#mended();
      } catch {
        this.#mending = undefined;
        this.#mendIn(Math.min(2 * ms, MEND_MAX_MS));
      }
    }, ms);
    Deno.unrefTimer(this.#mending);
  }

  #mended(): void {
    clearTimeout(this.#mending);
    this.#mending = undefined;
    this.#startTurn();
  }

  /** What it does. A turn that is open in the journal alone, which could not be written, does not run. */
  get activity(): SessionState["activity"] {
    const { activity } = this.state;
    const works = this.#turn !== undefined || this.#left !== undefined;
    return activity === "working" && !works ? "idle" : activity;
  }

  /**
   * Up to which seq a turn that has ended leaves no message to another turn, where the events do not
   * say it. They do when no message came that only a call without an answer has seen.
   */
  #takenBy({ taken_seq }: RunningTurn, stop_reason: StopReason): number | undefined {
    const { state } = this;
    const { started_seq = state.last_seq } = state.turn ?? {};
    const by_events = Math.max(started_seq, state.taken_seq);
    if (stop_reason === "interrupted") {
      // A pause: it is taken up again after it, unless it was being answered.
      const untouched = taken_seq === undefined && messageWaits(state);
      return untouched ? state.taken_seq : undefined;
    }
    // What its last call has seen is not tried again: it would fail again, or is not wanted.
    const unanswered = taken_seq !== undefined && taken_seq > by_events &&
      state.queued.some(({ seq }) => seq > by_events);
    return unanswered ? taken_seq : undefined;
  }

  async #completeTurn(turn_id: string, end: TurnEnd, taken_seq?: number): Promise<void> {
    const { stop_reason } = end;
    await this.#closeLanes("its turn ended", stop_reason);
    if (findLane(this.state, MAIN_LANE)?.status === "blocked") {
      await this.lanes.move(MAIN_LANE, "running", "its turn ended", stop_reason);
    }
    // What it said last may still wait to be written.
    await this.#writer.written();
    const { text = "", usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 } } =
      this.state.turn ?? {};
    const taken = taken_seq === undefined ? {} : { taken_seq };
    await this.emit("turn.completed", { turn_id, message: text, usage, ...end, ...taken });
  }

  /** Cancels the lanes of the calls that a turn has not ended. */
  #closeLanes(reason: string, reason_code: string): Promise<void> {
    return this.lanes.cancelOpen((lane) => lane.kind === "tool", { reason, reason_code });
  }

  /** Ends a turn that is open in the journal though nothing runs it: after a crash or a full disk. */
  async #closeStrayTurn(stop_reason: StopReason): Promise<void> {
    if (this.#turn !== undefined || this.state.turn === undefined) return;
    if (this.#left !== undefined) return;
    const { turn_id } = this.state.turn;
    this.#closing_stray ??= this.#completeTurn(turn_id, { stop_reason })
      .finally(() => this.#closing_stray = undefined);
    await this.#closing_stray;
  }

  /**
   * Closes what a daemon that is gone left open in the journal: its lanes, its commands, and its turn,
   * unless that waits to go on.
   */
  async recover(): Promise<void> {
    const { turn, paused_by } = this.state;
    const after = turn?.left ? "stop" : "crash";
    const crashed = after === "crash" && (turn?.crashes ?? 0) + 1 >= CRASHES_MAX;
    const may = turn !== undefined && !crashed && paused_by !== "operator";
    if (may && this.#goesOn(after)) this.#left = after;
    await this.#closeStrayTurn("interrupted");
    for (const { command_id, command } of this.state.background) {
      await this.emit("background.ended", { command_id, command, reason: "daemon_stopped" });
    }
    await this.lanes.cancelOpen(() => true, {
      reason: "its daemon has stopped",
      reason_code: "interrupted",
    });
  }

  /**
   * Cancels the turn in flight and waits, at most 5 s, until it is gone. A message that came during
   * the turn and that no model call has seen gets a turn of its own.
   *
   * @returns whether a turn was cancelled: one that reached its end first was not.
   * @throws {SvcError} `ended`.
   */
  async cancel(): Promise<boolean> {
    this.#requireOpen();
    const turn = this.#turn;
    if (turn === undefined) return await this.#dropLeft("cancelled");
    await this.#stopTurn("cancelled", 0);
    return turn.end?.stop_reason !== "ok";
  }

  /** Ends the turn that waits to go on. @returns whether there was one. */
  async #dropLeft(stop_reason: StopReason): Promise<boolean> {
    if (this.#left === undefined) return false;
    this.#left = undefined;
    await this.#closeStrayTurn(stop_reason);
    this.#startCompaction();
    this.#startTurn();
    return true;
  }

  /**
   * Stops the turn in flight.
   *
   * @param grace_ms time to reach a safe point before it is cut off.
   */
  async #stopTurn(stop_reason: StopReason, grace_ms: number): Promise<void> {
    const turn = this.#turn;
    if (turn === undefined) return;
    // A person who cancels it does not want it continued.
    if (stop_reason === "cancelled") turn.left = false;
    turn.stop_reason ??= stop_reason;
    turn.soft_stop.abort();
    if (grace_ms === 0 || !(await within(turn.ended, grace_ms))) {
      turn.hard_stop.abort(new DOMException(`turn ${stop_reason}`, "AbortError"));
      await within(turn.ended, STOP_GRACE_MS + KILL_GRACE_MS);
    }
  }

  // ── the session's life ───────────────────────────────────────────────────────────────────────

  /**
   * Pauses: stops the turn at the next safe point (at the latest after `grace_ms`), then records it.
   *
   * @throws {SvcError} `ended`, or `conflict` when it is paused already.
   */
  async pause(reason: "operator" | "daemon_shutdown", grace_ms = STOP_GRACE_MS): Promise<string> {
    this.#requireRunning();
    this.#stopping ||= reason === "daemon_shutdown";
    // Asked for twice at once, it is done once.
    return await (this.#pausing ??= this.#pause(reason, grace_ms));
  }

  async #pause(reason: "operator" | "daemon_shutdown", grace_ms: number): Promise<string> {
    try {
      if (reason === "operator") await this.#dropLeft("interrupted");
      else if (this.#turn !== undefined) this.#turn.left = this.#goesOn("stop");
      await this.#stopTurn("interrupted", grace_ms);
      this.#requireRunning();
      return (await this.emit("session.paused", { reason })).at;
    } finally {
      this.#pausing = undefined;
      // A message that came meanwhile, or the turn that was left; only if the pause failed.
      if (!this.goOn()) this.#startTurn();
    }
  }

  /** Resumes a paused session. @throws {SvcError} `ended`, or `conflict` when it is not paused. */
  async resume(reason: "operator" | "daemon_started"): Promise<string> {
    this.#requireOpen();
    if (this.state.state !== "paused") {
      throw new SvcError("conflict", `session ${this.id} is not paused`);
    }
    return await (this.#resuming ??= this.#resume(reason));
  }

  async #resume(reason: "operator" | "daemon_started"): Promise<string> {
    try {
      return (await this.emit("session.resumed", { reason })).at;
    } finally {
      this.#resuming = undefined;
      this.#startTurn();
    }
  }

  /** Ends the session for good; its tools get 5 s to stop. @throws {SvcError} `ended`. */
  async kill(reason: "killed" | "completed" = "killed"): Promise<void> {
    this.#requireOpen();
    this.#closing = true;
    clearTimeout(this.#mending);
    this.#mending = undefined;
    this.#left = undefined;
    await this.#stopTurn("cancelled", 0);
    if (this.state.turn) {
      await this.#completeTurn(this.state.turn.turn_id, { stop_reason: "cancelled" });
    }
    await this.#parts.endBackground?.(this);
    await this.lanes.killAll("the session was killed", "session.kill");
    await this.lanes.move(MAIN_LANE, "cancelled", "the session was killed", "killed");
    await this.emit("session.ended", { reason });
    this.#transcript = undefined;
    this.journal.release();
  }

  /** Lets go of subscribers and files; for the daemon's stop, after everything is recorded. */
  release(): Promise<void> {
    clearTimeout(this.#mending);
    return this.#writer.release();
  }

  #requireOpen(): void {
    if (this.#closing || this.final) throw new SvcError("ended", `session ${this.id} has ended`);
  }

  #requireRunning(): void {
    this.#requireOpen();
    if (this.state.state === "paused") {
      if (this.#stopping) throw new SvcError("shutting_down", "the daemon is stopping");
      throw new SvcError("conflict", `session ${this.id} is paused`, { hint: "resume it first" });
    }
  }
}

function isRewindOfConversation({ type, data }: Published): boolean {
  return type === "session.rewound" && data.conversation !== undefined;
}
