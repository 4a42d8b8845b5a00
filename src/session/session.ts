/**
 * One session: its conversation, its turns, its life. What happens in it goes through its writer,
 * and its state is what the events made of it.
 */
import { messageOf, SvcError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { within } from "../platform/within.ts";
import { Approvals } from "./approvals.ts";
import {
  type EventData,
  type EventType,
  MAIN_LANE,
  type SessionEvent,
  type StopReason,
} from "./events.ts";
import type { Ids } from "./ids.ts";
import type { Journal } from "./journal.ts";
import { Lanes } from "./lanes.ts";
import type { Retention } from "./retention.ts";
import { findLane, type SessionState } from "./state.ts";
import type { Deltas, Published, Sink, Subscription } from "./subscription.ts";
import { Transcript } from "./transcript.ts";
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
}

interface RunningTurn extends Turn {
  hard_stop: AbortController;
  soft_stop: AbortController;
  /** Why it was asked to stop. */
  stop_reason?: StopReason;
  /** Whether it has taken up the messages that wait. */
  looked: boolean;
  ended: Promise<void>;
}

const FAILED: ReadonlySet<StopReason> = new Set(["error", "budget"]);
/** How long a killed or paused session's tools may take to stop. */
const STOP_GRACE_MS = 5_000;

export class Session {
  readonly id: string;
  readonly state: SessionState;
  readonly journal: Journal;
  readonly lanes: Lanes;
  readonly approvals: Approvals;
  readonly #parts: SessionParts;
  readonly #writer: Writer;
  #turn: RunningTurn | undefined;
  #transcript: Transcript | undefined;
  #sending = new Map<string, Promise<{ message_id: string; seq: number }>>();
  #closing_stray: Promise<void> | undefined;
  /** Whether a message came that no model call has seen. */
  #fresh = false;
  /** The end was asked for: nothing new is taken. */
  #closing = false;
  /** session.paused is on its way: no turn begins before it. */
  #pausing = false;

  constructor(state: SessionState, journal: Journal, parts: SessionParts) {
    this.id = state.id;
    this.state = state;
    this.journal = journal;
    this.#parts = parts;
    this.#writer = new Writer(state, journal, {
      onCommit: (events, durable) => this.#onCommit(events, durable),
      onFailed: (error) => this.#onFailed(error),
    });
    this.lanes = new Lanes(state, this.#writer);
    this.approvals = new Approvals(state, this.#writer, this.lanes, parts.ids);
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────

  /** Records an event; see {@linkcode Writer.emit}. */
  emit<T extends EventType>(type: T, data: EventData[T]): Promise<SessionEvent> {
    return this.#writer.emit(type, data);
  }

  /** Records text of the main lane; nothing waits for it. */
  emitText(turn_id: string, text: string): void {
    // What a turn still says after it was cut off could follow session.paused.
    if (!this.#turn?.signal.aborted) this.#writer.emitText(turn_id, text);
  }

  /** Records output of another lane; nothing waits for it. */
  emitLaneText(lane_id: string, text: string): void {
    this.#writer.emitLaneText(lane_id, text);
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
    for (const event of events) {
      this.#transcript?.apply(event);
      if (event.type === "user.message") this.#fresh = true;
    }
    this.#parts.onCommit(this, events, durable);
  }

  #onFailed(error: SvcError): void {
    this.#parts.log.error(error.message, { session_id: this.id });
    this.#closing = false;
    this.#turn?.hard_stop.abort(error);
  }

  /** The conversation, read from the journal when it is not at hand; kept while a turn needs it. */
  async transcript(): Promise<Transcript> {
    while (this.#transcript === undefined) {
      const transcript = new Transcript();
      let seq = 0;
      for await (const event of this.journal.read(0)) {
        if (event.seq > this.state.last_seq) break;
        transcript.apply(event);
        seq = event.seq;
      }
      // Events committed meanwhile are missing from it: read again rather than merge.
      if (seq !== this.state.last_seq) continue;
      if (this.#turn === undefined) return transcript;
      this.#transcript = transcript;
    }
    return this.#transcript;
  }

  /** Gives back what only a busy session needs, if nothing happened for `rest_ms`. */
  rest(rest_ms: number): boolean {
    if (this.#turn !== undefined || !this.#writer.quietFor(rest_ms)) return false;
    this.#transcript = undefined;
    this.journal.release();
    return true;
  }

  /** Keeps the journal within its limits; see {@linkcode Writer.retain}. */
  retain(limits: Retention): Promise<boolean> {
    return this.#writer.retain(limits);
  }

  // ── the turn ─────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes a message: starts a turn, or steers the one in flight.
   *
   * @param client_message_id a second call with the same one sends nothing and answers the same.
   * @throws {SvcError} `ended`, or `conflict` when the session is paused.
   */
  send(text: string, client_message_id?: string): Promise<{ message_id: string; seq: number }> {
    this.#requireRunning();
    if (client_message_id === undefined) return this.#send(text);
    const sent = this.state.sent.get(client_message_id);
    if (sent !== undefined) return Promise.resolve(sent);
    let sending = this.#sending.get(client_message_id);
    if (sending === undefined) {
      sending = this.#send(text, client_message_id)
        .finally(() => this.#sending.delete(client_message_id));
      this.#sending.set(client_message_id, sending);
    }
    return sending;
  }

  async #send(text: string, client_message_id?: string) {
    this.#writer.requireWritable();
    await this.#closeStrayTurn("error");
    const message_id = this.#parts.ids.next("msg");
    const { seq } = await this.emit("user.message", { message_id, text, client_message_id });
    this.#startTurn();
    return { message_id, seq };
  }

  /** Whether a message waits that no model call has seen. */
  get fresh(): boolean {
    return this.#fresh;
  }

  /** Counts the messages that wait as seen: a model call is built from them. */
  takeFresh(): void {
    this.#fresh = false;
    if (this.#turn !== undefined) this.#turn.looked = true;
  }

  #startTurn(): void {
    if (this.#turn !== undefined || !this.#fresh || this.#closing || this.#pausing) return;
    if (this.state.state !== "running") return;
    const hard_stop = new AbortController();
    const soft_stop = new AbortController();
    const turn: RunningTurn = {
      turn_id: this.#parts.ids.next("turn"),
      signal: hard_stop.signal,
      soft: AbortSignal.any([soft_stop.signal, hard_stop.signal]),
      hard_stop,
      soft_stop,
      looked: false,
      ended: Promise.resolve(),
    };
    this.#turn = turn;
    turn.ended = this.#runTurn(turn).finally(() => {
      this.#turn = undefined;
      this.#startTurn();
    });
  }

  async #runTurn(turn: RunningTurn): Promise<void> {
    let end: TurnEnd;
    try {
      await this.emit("turn.started", { turn_id: turn.turn_id, model: this.state.model });
      await this.lanes.move(MAIN_LANE, "running", "a turn started", "turn_started");
      end = await this.#parts.runTurn(this, turn);
    } catch (error) {
      end = { stop_reason: "error", error: messageOf(error) };
    }
    // What it was asked to do outranks how its parts failed while they were torn down; a turn that
    // reached its end before it was cut off is whole.
    if (turn.stop_reason !== undefined && (turn.signal.aborted || end.stop_reason !== "ok")) {
      end = { stop_reason: turn.stop_reason };
    }
    // A turn that failed before it took up its messages would fail again, and again.
    if (!turn.looked && FAILED.has(end.stop_reason)) this.#fresh = false;
    // Nothing that it began outlives it.
    turn.hard_stop.abort(new DOMException("the turn has ended", "AbortError"));
    try {
      await this.#completeTurn(turn.turn_id, end);
    } catch (error) {
      // Ended meanwhile, or unwritable: the next message closes the turn first.
      this.#parts.log.warn("turn.completed could not be recorded", {
        session_id: this.id,
        error: messageOf(error),
      });
    }
  }

  async #completeTurn(turn_id: string, end: TurnEnd): Promise<void> {
    const { stop_reason } = end;
    await this.lanes.cancelOpen((lane) => lane.kind === "tool", {
      reason: "its turn ended",
      reason_code: stop_reason,
    });
    if (findLane(this.state, MAIN_LANE)?.status === "blocked") {
      await this.lanes.move(MAIN_LANE, "running", "its turn ended", stop_reason);
    }
    const { text = "", usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 } } =
      this.state.turn ?? {};
    await this.emit("turn.completed", { turn_id, message: text, usage, ...end });
  }

  /** Ends a turn that is open in the journal though nothing runs it: after a crash or a full disk. */
  async #closeStrayTurn(stop_reason: StopReason): Promise<void> {
    if (this.#turn !== undefined || this.state.turn === undefined) return;
    const { turn_id } = this.state.turn;
    this.#closing_stray ??= this.#completeTurn(turn_id, { stop_reason })
      .finally(() => this.#closing_stray = undefined);
    await this.#closing_stray;
  }

  /** Closes what a daemon that is gone left open in the journal: its turn and its lanes. */
  async recover(): Promise<void> {
    await this.#closeStrayTurn("interrupted");
    await this.lanes.cancelOpen(() => true, {
      reason: "the daemon that ran it is gone",
      reason_code: "interrupted",
    });
  }

  /** Cancels the turn in flight and waits, at most 5 s, until it is gone. */
  async cancel(): Promise<boolean> {
    if (this.#turn === undefined) return false;
    this.#fresh = false;
    await this.#stopTurn("cancelled", 0);
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
    turn.stop_reason ??= stop_reason;
    turn.soft_stop.abort();
    if (grace_ms === 0 || !(await within(turn.ended, grace_ms))) {
      turn.hard_stop.abort(new DOMException(`turn ${stop_reason}`, "AbortError"));
      await within(turn.ended, STOP_GRACE_MS);
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
    this.#pausing = true;
    try {
      await this.#stopTurn("interrupted", grace_ms);
      this.#requireRunning();
      return (await this.emit("session.paused", { reason })).at;
    } finally {
      this.#pausing = false;
      // A message that came meanwhile; only if the pause failed.
      this.#startTurn();
    }
  }

  /** Resumes a paused session. @throws {SvcError} `ended`, or `conflict` when it is not paused. */
  async resume(reason: "operator" | "daemon_started"): Promise<string> {
    this.#requireOpen();
    if (this.state.state !== "paused") {
      throw new SvcError("conflict", `session ${this.id} is not paused`);
    }
    const { at } = await this.emit("session.resumed", { reason });
    this.#startTurn();
    return at;
  }

  /** Ends the session for good; its tools get 5 s to stop. @throws {SvcError} `ended`. */
  async kill(reason: "killed" | "completed" = "killed"): Promise<void> {
    this.#requireOpen();
    this.#closing = true;
    await this.#stopTurn("cancelled", 0);
    if (this.state.turn) {
      await this.#completeTurn(this.state.turn.turn_id, { stop_reason: "cancelled" });
    }
    await this.lanes.killAll("the session was killed", "session.kill");
    await this.lanes.move(MAIN_LANE, "cancelled", "the session was killed", "killed");
    await this.emit("session.ended", { reason });
    this.#transcript = undefined;
    this.journal.release();
  }

  /** Lets go of subscribers and files; for the daemon's stop, after everything is recorded. */
  release(): Promise<void> {
    return this.#writer.release();
  }

  #requireOpen(): void {
    if (this.#closing || this.final) throw new SvcError("ended", `session ${this.id} has ended`);
  }

  #requireRunning(): void {
    this.#requireOpen();
    if (this.state.state === "paused") {
      throw new SvcError("conflict", `session ${this.id} is paused`, { hint: "resume it first" });
    }
  }
}
