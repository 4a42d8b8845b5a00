/**
 * One session: its conversation, its turns, its life. What happens in it goes through its writer,
 * and its state is what the events made of it.
 */
import { dirname } from "@std/path";
import type * as z from "zod";
import { SvcError } from "../protocol/errors.ts";
import type { queuedMessageSchema } from "../protocol/schemas/session.ts";
import { couldBeSameDirectory, directoryAt } from "../os/directory_identity.ts";
import { exists } from "../os/files.ts";
import type { Log } from "../os/log.ts";
import type { Attachments } from "./attachments.ts";
import { Approvals } from "./approvals.ts";
import { Conversation } from "./conversation.ts";
import {
  type Compacted,
  type CutBy,
  type EventData,
  type EventType,
  MAIN_LANE,
  type SendOptions,
  type SessionEvent,
} from "../protocol/events.ts";
import type { Ids } from "./ids.ts";
import type { Sent, Withdrawn } from "./inbox.ts";
import type { Rights } from "./index_file.ts";
import type { Journal } from "./journal.ts";
import { Lanes } from "./lanes.ts";
import type { Parks } from "./parked.ts";
import type { Retention } from "./retention.ts";
import type { Kept, Snapshots } from "./snapshots.ts";
import type { SessionState } from "./session_state.ts";
import type { Deltas, Published, Sink, Subscription } from "./subscription.ts";
import type { Transcript } from "./transcript.ts";
import type { Turn, TurnEnd } from "./turn.ts";
import { STOP_GRACE_MS, Turns } from "./turns.ts";
import { Writer } from "./writer.ts";

/** What a session needs from outside. */
export interface SessionParts {
  ids: Ids;
  log: Log;
  /** How turns wait for the end of a provider's limit; by default they do not. */
  parks?(session: Session): Parks | undefined;
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
  readonly approvals: Pick<Approvals, "ask" | "consult" | "request" | "settle" | "withdraw">;
  /** The conversation that its calls read files for; default: the session's own. */
  readonly reader?: string;
}

export class Session {
  readonly id: string;
  readonly state: SessionState;
  readonly journal: Journal;
  readonly lanes: Lanes;
  /** The rights that are about to be recorded. */
  readonly configuring: Set<Rights> = new Set();
  readonly approvals: Approvals;
  /** When its work must be done, in milliseconds since 1970. */
  deadline_at?: number;
  readonly #parts: SessionParts;
  readonly #writer: Writer;
  #was_followed = false;
  readonly #conversation: Conversation;
  readonly #turns: Turns;
  #attachments: Promise<Attachments> | undefined;
  /** The end was asked for: nothing new is taken. */
  #closing = false;
  /** session.paused is on its way: no turn begins before it. */
  #pausing: Promise<string> | undefined;
  /** Paused, or about to be, because the daemon is stopping. */
  #stopping = false;
  #resuming: Promise<string> | undefined;

  /** @param kept the snapshot that the session was read from. */
  constructor(state: SessionState, journal: Journal, parts: SessionParts, kept?: Kept) {
    this.id = state.id;
    this.state = state;
    this.journal = journal;
    this.#parts = parts;
    this.#conversation = new Conversation({
      state,
      journal,
      snapshots: parts.snapshots,
      log: parts.log,
      atWork: () => this.#turns.running !== undefined,
    }, kept);
    this.#writer = new Writer(state, journal, {
      onCommit: (events, durable) => this.#onCommit(events, durable),
      onFailed: (error) => this.#onFailed(error),
    });
    this.lanes = new Lanes(state, this.#writer);
    this.#turns = new Turns({
      session: this,
      writer: this.#writer,
      open: () => !this.#closing && this.#pausing === undefined,
    }, parts);
    this.approvals = new Approvals({
      state,
      writer: this.#writer,
      lanes: this.lanes,
      ids: parts.ids,
      goOn: () => this.goOn() || this.#turns.running !== undefined,
      stopping: () => this.#stopping,
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
    if (!this.#turns.running?.signal.aborted) this.#writer.emitText(turn_id, text);
  }

  /** Records reasoning of the model; nothing waits for it. */
  emitReasoning(turn_id: string, text: string): void {
    if (!this.#turns.running?.signal.aborted) this.#writer.emitReasoning(turn_id, text);
  }

  /** Records output of another lane; nothing waits for it. */
  emitLaneText(...text: Parameters<Writer["emitLaneText"]>): void {
    this.#writer.emitLaneText(...text);
  }

  /** Makes a subscription; see {@linkcode Writer.subscribe}. */
  subscribe(sink: Sink, options: { since_seq?: number; deltas?: Deltas }): Subscription {
    this.#was_followed = true;
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
    this.#conversation.apply(events);
    this.#parts.onCommit(this, events, durable);
  }

  #onFailed(error: SvcError): void {
    this.#parts.log.error(error.message, { session_id: this.id });
    this.#closing = false;
    this.#turns.running?.hard_stop.abort(error);
  }

  /** The conversation, without messages that are being withdrawn. */
  async transcript(): Promise<Transcript> {
    await this.#turns.inbox.settled();
    return (await this.#conversation.read()).transcript;
  }

  /** Writes a snapshot if its journal has grown enough since the last. */
  keep(): Promise<void> {
    return this.#conversation.keep();
  }

  /** Stops writing snapshots; resolves when none is being written. */
  stopKeeping(): Promise<void> {
    return this.#conversation.stopKeeping();
  }

  /** Gives back what only a busy session needs, if nothing happened for `rest_ms`. */
  async rest(rest_ms: number): Promise<boolean> {
    const quiet = () => this.#turns.running === undefined && this.#writer.quietFor(rest_ms);
    if (!quiet()) return false;
    await this.#conversation.keep();
    if (!quiet()) return false;
    this.#conversation.drop();
    this.journal.release();
    return true;
  }

  /** Keeps the journal within its limits; see {@linkcode Writer.retain}. */
  async retain(limits: Retention): Promise<boolean> {
    if (!(await this.#writer.retain(limits))) return false;
    const { keepNamed } = await import("./attachments.ts");
    await keepNamed(await this.attachments(), this.journal);
    await this.#conversation.keepAnew();
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
    return this.#turns.active || this.followed;
  }

  /** Whether somebody follows it. */
  get followed(): boolean {
    return this.#writer.watched;
  }

  /** Whether somebody has followed it since this daemon has it. */
  get was_followed(): boolean {
    return this.#was_followed;
  }

  // ── the turn ─────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes a message: starts a turn, steers the one in flight, or waits for a turn of its own.
   *
   * @param more its limits; a second call with the same client_message_id sends nothing and answers
   * the same.
   * @throws {SvcError} `ended`, or `conflict` when the session is paused.
   */
  send(text: string, more: SendOptions = {}): Promise<Sent> {
    this.#requireRunning();
    return this.#turns.send(text, more);
  }

  /** Withdraws waiting messages; see {@linkcode Turns.withdraw}. @throws {SvcError} `ended`. */
  async withdraw(by: string, message_ids?: readonly string[]): Promise<Withdrawn[]> {
    this.#requireOpen();
    return await this.#turns.withdraw(by, message_ids);
  }

  /**
   * Changes how a waiting message reaches the model; see {@linkcode Turns.redeliver}.
   *
   * @throws {SvcError} `ended`, or `conflict` when the session is paused.
   */
  async redeliver(...message: Parameters<Turns["redeliver"]>): Promise<boolean> {
    this.#requireRunning();
    return await this.#turns.redeliver(...message);
  }

  /** The messages that can be withdrawn, oldest first, and how they reach the model. */
  get queued(): z.output<ReturnType<typeof queuedMessageSchema>>[] {
    const delivery = this.#turns.delivery ?? "queue";
    const { waiting, later } = this.#turns.inbox;
    return [
      ...waiting.map(({ message_id, seq }) => ({ message_id, seq, delivery })),
      ...later.map(({ seq, message: { message_id } }) => ({
        message_id,
        seq,
        delivery: "queue" as const,
      })),
    ];
  }

  /** Begins the turn of a message that waits, if one does: after a restart nothing else would. */
  takeUp(): void {
    this.#turns.startNext();
  }

  /** See {@linkcode Inbox.fresh}. */
  get fresh(): boolean {
    return this.#turns.inbox.fresh;
  }

  /** See {@linkcode Inbox.holdFresh}. */
  holdFresh(): boolean {
    return this.#turns.inbox.holdFresh();
  }

  /** See {@linkcode Inbox.takeFresh}. */
  takeFresh(): boolean {
    return this.#turns.inbox.takeFresh();
  }

  /** What it does. A turn that is open in the journal alone does not run. */
  get activity(): SessionState["activity"] {
    const { activity } = this.state;
    return activity === "working" && !this.#turns.active ? "idle" : activity;
  }

  /** Whether its turn was cut off and waits to go on. */
  get waitsToGoOn(): boolean {
    return this.#turns.waitsToGoOn;
  }

  /** Whether its last turn was cut off and can go on. */
  get cutOff(): boolean {
    return this.#turns.cutOff;
  }

  /** See {@linkcode Turns.parked}. */
  get parked(): Turns["parked"] {
    return this.#turns.parked;
  }

  /** See {@linkcode Turns.goOn}. */
  goOn(options?: { early?: boolean }): boolean {
    return this.#turns.goOn(options);
  }

  /**
   * Has the last turn go on by hand; see {@linkcode Turns.continueTurn}.
   *
   * @throws {SvcError} `ended`, or `conflict` when the session is paused or has no such turn.
   */
  async continueTurn(): Promise<string> {
    this.#requireRunning();
    return await this.#turns.continueTurn();
  }

  /**
   * Makes the conversation shorter; see {@linkcode Turns.compact}.
   *
   * @throws {SvcError} `ended`, or `conflict` when the session is paused or stopped.
   */
  compact(): Promise<Compacted | undefined> {
    this.#requireRunning();
    return this.#turns.compact();
  }

  /** Does the compaction that was asked for, if one was. */
  compactIfAsked(run: () => Promise<Compacted | undefined>): Promise<void> {
    return this.#turns.compactIfAsked(run);
  }

  /**
   * Does work that no turn may run beside; see {@linkcode Turns.alone}.
   *
   * @throws {SvcError} `ended`, or `conflict` while a turn runs or while it is paused.
   */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    this.#requireRunning();
    return await this.#turns.alone(work);
  }

  /** Cancels the turn in flight; see {@linkcode Turns.cancel}. @throws {SvcError} `ended`. */
  async cancel(): Promise<boolean> {
    this.#requireOpen();
    return await this.#turns.cancel();
  }

  /** Closes what a daemon that is gone left open; see {@linkcode Turns.recover}. */
  recover(): Promise<void> {
    return this.#turns.recover();
  }

  // ── the session's life ───────────────────────────────────────────────────────────────────────

  /**
   * Pauses: stops the turn at the next safe point (at the latest after `grace_ms`), then records it.
   *
   * @param after is waited for before it is recorded; no turn begins meanwhile.
   * @throws {SvcError} `ended`, or `conflict` when it is paused already.
   */
  async pause(
    reason: "operator" | "daemon_shutdown",
    grace_ms = STOP_GRACE_MS,
    after?: Promise<void>,
  ): Promise<string> {
    this.#requireRunning();
    this.#stopping ||= reason === "daemon_shutdown";
    // Asked for twice at once, it is done once.
    return await (this.#pausing ??= this.#pause(reason, grace_ms, after));
  }

  async #pause(
    reason: "operator" | "daemon_shutdown",
    grace_ms: number,
    after?: Promise<void>,
  ): Promise<string> {
    try {
      if (reason === "operator") await this.#turns.dropLeft("interrupted");
      else this.#turns.leaveIfItGoesOn();
      await this.#turns.stop("interrupted", grace_ms);
      await after;
      this.#requireRunning();
      return (await this.emit("session.paused", { reason })).at;
    } finally {
      this.#pausing = undefined;
      // A message that came meanwhile, or the turn that was left; only if the pause failed.
      if (!this.goOn()) this.#turns.startNext();
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
      this.#turns.startNext();
    }
  }

  /** Ends the session for good; its tools get 5 s to stop. @throws {SvcError} `ended`. */
  async kill(reason: "killed" | "completed" = "killed"): Promise<void> {
    this.#requireOpen();
    this.#closing = true;
    this.#turns.closer.stop();
    this.#turns.forgetLeft();
    await this.#turns.stop("cancelled", 0);
    if (this.state.turn) {
      await this.#turns.closer.complete(this.state.turn.turn_id, { stop_reason: "cancelled" });
    }
    await this.#parts.endBackground?.(this);
    await this.lanes.killAll("the session was killed", "session.kill");
    await this.lanes.move(MAIN_LANE, "cancelled", "the session was killed", "killed");
    await this.emit("session.ended", { reason });
    this.#conversation.drop();
    this.journal.release();
  }

  /** Lets go of subscribers and files; for the daemon's stop, after everything is recorded. */
  release(): Promise<void> {
    this.#turns.closer.stop();
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
