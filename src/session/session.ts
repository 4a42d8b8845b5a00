/**
 * One session: the single writer of its events. The order of every event is: seq, journal, flush
 * where the type demands it, fold, subscribers.
 */
import { setImmediate } from "node:timers";
import { deadline } from "@std/async";
import { messageOf, SvcError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import type { Ids } from "./ids.ts";
import {
  type Decision,
  DURABLE,
  type EventData,
  type EventType,
  type LaneStatus,
  MAIN_LANE,
  type SessionEvent,
  type StopReason,
} from "./events.ts";
import type { Journal } from "./journal.ts";
import { encodeRecord } from "./record.ts";
import { planCheckpoint, type Retention } from "./retention.ts";
import {
  applyToState,
  findLane,
  type Lane,
  laneEnded,
  laneMayMove,
  type SessionState,
} from "./state.ts";
import {
  type Deltas,
  type Published,
  type Sink,
  type Source,
  Subscription,
} from "./subscription.ts";
import { Transcript } from "./transcript.ts";

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
  /** Fires when the turn must stop at once. */
  readonly signal: AbortSignal;
  /** Fires when it should stop at the next safe point. */
  readonly soft: AbortSignal;
}

interface Waiting {
  type: EventType;
  data: EventData[EventType];
  done?: PromiseWithResolvers<SessionEvent>;
}

interface RunningTurn extends Turn {
  hard_stop: AbortController;
  soft_stop: AbortController;
  /** Why it was asked to stop. */
  stop_reason?: StopReason;
  ended: Promise<void>;
}

/** How long a killed or paused session's tools may take to stop. */
const STOP_GRACE_MS = 5_000;
/** How long a slow subscriber may take for its last events when the daemon stops. */
const DELIVER_GRACE_MS = 1_000;

export class Session implements Source {
  readonly id: string;
  readonly state: SessionState;
  readonly journal: Journal;
  readonly #parts: SessionParts;
  #waiting: Waiting[] = [];
  #jobs: (() => void)[] = [];
  #compacting = false;
  #draining = false;
  #subscriptions = new Set<Subscription>();
  #turn: RunningTurn | undefined;
  #transcript: Transcript | undefined;
  #sending = new Map<string, Promise<{ message_id: string; seq: number }>>();
  #lane_stops = new Map<string, () => void>();
  #approvals = new Map<string, (decision: Decision) => void>();
  #closing_stray: Promise<void> | undefined;
  /** Whether a message came that no model call has seen. */
  #fresh = false;
  /** The end was asked for: nothing new is taken. */
  #closing = false;
  /** session.paused is on its way: no turn begins before it. */
  #pausing = false;
  /** session.ended is on its way: no event may follow it. */
  #ending = false;
  /** When it last committed, by a clock that is never set. */
  #touched = performance.now();

  constructor(state: SessionState, journal: Journal, parts: SessionParts) {
    this.id = state.id;
    this.state = state;
    this.journal = journal;
    this.#parts = parts;
  }

  // ── writing ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Records an event.
   *
   * @returns the event once it is in the journal (and on the disk, for the types of
   * {@linkcode DURABLE}); subscribers have been handed it by then.
   * @throws {SvcError} `ended` after session.ended; `internal` when the journal cannot be written,
   * and then nothing of it remains.
   */
  emit<T extends EventType>(type: T, data: EventData[T]): Promise<SessionEvent> {
    if (this.#ending || this.final) {
      return Promise.reject(new SvcError("ended", `session ${this.id} has ended`));
    }
    if (type === "session.ended") this.#ending = true;
    const done = Promise.withResolvers<SessionEvent>();
    this.#post({ type, data, done });
    return done.promise;
  }

  /** Records text of the main lane, as session.delta and as lane.delta; nothing waits for it. */
  emitText(turn_id: string, text: string): void {
    const [own, lane] = this.#waiting.slice(-2);
    // Text that comes within one turn of the event loop is one event.
    if (own?.type === "session.delta" && lane?.type === "lane.delta") {
      (own.data as EventData["session.delta"]).text += text;
      (lane.data as EventData["lane.delta"]).content_block.text += text;
      return;
    }
    // What a turn still says after it was cut off could follow session.paused.
    if (this.#ending || this.#turn?.signal.aborted) return;
    this.#post({ type: "session.delta", data: { turn_id, text } });
    this.#postLaneText(MAIN_LANE, text);
  }

  /** Records output of another lane; nothing waits for it. */
  emitLaneText(lane_id: string, text: string): void {
    if (!this.#ending) this.#postLaneText(lane_id, text);
  }

  /**
   * Moves a lane to another status.
   *
   * @throws {Error} when contract.md section 5 does not allow the move: a defect of the caller.
   */
  async moveLane(
    lane_id: string,
    status: LaneStatus,
    reason: string,
    reason_code: string,
  ): Promise<void> {
    const lane = findLane(this.state, lane_id);
    if (lane === undefined || lane.status === status) return;
    if (!laneMayMove(lane.status, status)) {
      throw new Error(`lane ${lane_id} cannot go from ${lane.status} to ${status}`);
    }
    const prev_status = lane.status;
    await this.emit("lane.status", { lane_id, status, prev_status, reason, reason_code });
  }

  /**
   * Ends a lane and, with `cascade`, the lanes below it: the work stops, lane.killed and
   * lane.status are recorded.
   *
   * @returns the lanes that were ended.
   * @throws {SvcError} not_found; conflict for the main lane, for one that has ended, and for one
   * with lanes below it when `cascade` is false.
   */
  async killLane(
    lane_id: string,
    options: { cascade: boolean; reason: string; actor: string },
  ): Promise<string[]> {
    const lane = this.lane(lane_id);
    if (lane_id === MAIN_LANE) {
      throw new SvcError("conflict", "the main lane lives as long as its session", {
        hint: "session.cancel ends its turn, session.kill the session",
      });
    }
    if (laneEnded(lane)) {
      throw new SvcError("conflict", `lane ${lane_id} is ${lane.status} already`);
    }
    const below = this.state.lanes.filter((it) => it.parent_lane_id === lane_id && !laneEnded(it));
    if (below.length > 0 && !options.cascade) {
      throw new SvcError("conflict", `lane ${lane_id} has ${below.length} lanes below it`, {
        hint: "set cascade to end them too",
      });
    }
    const killed: string[] = [];
    for (const child of below) killed.push(...await this.killLane(child.lane_id, options));
    const { reason, actor } = options;
    await this.emit("lane.killed", { lane_id, reason, actor });
    await this.moveLane(lane_id, "cancelled", reason, "killed");
    this.#lane_stops.get(lane_id)?.();
    return [...killed, lane_id];
  }

  /** The lane of that id. @throws {SvcError} not_found. */
  lane(lane_id: string): Lane {
    const lane = findLane(this.state, lane_id);
    if (lane === undefined) {
      throw new SvcError("not_found", `session ${this.id} has no lane ${JSON.stringify(lane_id)}`);
    }
    return lane;
  }

  /** Has `stop` called when the lane is killed. @returns what takes that back. */
  onLaneKilled(lane_id: string, stop: () => void): () => void {
    this.#lane_stops.set(lane_id, stop);
    return () => this.#lane_stops.delete(lane_id);
  }

  #postLaneText(lane_id: string, text: string): void {
    const content_block = { type: "text" as const, text };
    this.#post({ type: "lane.delta", data: { lane_id, delta_seq: 0, content_block } });
  }

  #post(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#wake();
  }

  #wake(): void {
    if (this.#draining) return;
    this.#draining = true;
    setImmediate(() => this.#drain());
  }

  /** Runs a job of the writer's between two commits. */
  #betweenCommits(job: () => void): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#jobs.push(() => {
      try {
        done.resolve(job());
      } catch (error) {
        done.reject(error);
      }
    });
    this.#wake();
    return done.promise;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#jobs.length > 0) {
      for (const job of this.#jobs.splice(0)) job();
      const batch = this.#waiting;
      this.#waiting = [];
      if (batch.length === 0) continue;
      try {
        await this.#commit(batch);
      } catch (cause) {
        const error = this.#unwritable(cause);
        this.#parts.log.error(error.message, { session_id: this.id });
        for (const { done } of batch) done?.reject(error);
        this.#closing = this.#ending = false;
        this.#turn?.hard_stop.abort(error);
      }
    }
    this.#draining = false;
  }

  #unwritable(cause: unknown): SvcError {
    return new SvcError(
      "internal",
      `the journal ${this.journal.path} cannot be written: ${messageOf(cause)}`,
      {
        hint: "free disk space or mend the directory; what was journaled before is intact",
        cause,
      },
    );
  }

  async #commit(batch: Waiting[]): Promise<void> {
    const at = new Date().toISOString();
    const first_seq = this.state.last_seq + 1;
    const delta_seqs = new Map<string, number>();
    let durable = false;
    let lines = "";
    const events = batch.map(({ type, data }, n): Published => {
      if (type === "lane.delta") this.#numberDelta(data as EventData["lane.delta"], delta_seqs);
      durable ||= DURABLE.has(type);
      const event = { seq: first_seq + n, at, type, data } as SessionEvent;
      const data_json = JSON.stringify(data);
      lines += encodeRecord(event, data_json);
      return { ...event, session_id: this.id, data_json };
    });
    const last_seq = first_seq + events.length - 1;
    await this.journal.append({ lines, first_seq, last_seq, at, durable });
    this.#touched = performance.now();
    events.forEach((event, n) => {
      applyToState(this.state, event);
      this.#transcript?.apply(event);
      if (event.type === "user.message") this.#fresh = true;
      for (const subscription of this.#subscriptions) subscription.push(event);
      batch[n].done?.resolve(event);
    });
    this.#parts.onCommit(this, events, durable);
  }

  #numberDelta(delta: EventData["lane.delta"], numbered: Map<string, number>): void {
    const { lane_id } = delta;
    const last = numbered.get(lane_id) ?? findLane(this.state, lane_id)?.delta_seq ?? 0;
    delta.delta_seq = last + 1;
    numbered.set(lane_id, last + 1);
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────

  get published_seq(): number {
    return this.state.last_seq;
  }

  get final(): boolean {
    return this.state.state === "ended";
  }

  async *replay(since_seq: number): AsyncGenerator<Published> {
    this.#requireKept(since_seq);
    for await (const event of this.journal.read(since_seq)) {
      yield { ...event, session_id: this.id, data_json: JSON.stringify(event.data) };
    }
  }

  join(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
  }

  leave(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }

  /**
   * Makes a subscription; it delivers nothing before its `start` is called.
   *
   * @param options.since_seq the last seq the subscriber has; by default only what comes from now on.
   * @throws {SvcError} validation when since_seq is beyond the last event; journal_trimmed when
   * retention has rewritten what follows it.
   */
  subscribe(sink: Sink, options: { since_seq?: number; deltas?: Deltas }): Subscription {
    const { since_seq = this.published_seq, deltas = "both" } = options;
    if (since_seq > this.published_seq) {
      throw new SvcError(
        "validation",
        `since_seq ${since_seq} is beyond the last event, ${this.published_seq}`,
      );
    }
    this.#requireKept(since_seq);
    return new Subscription(this, sink, { since_seq, deltas });
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
    if (this.#turn !== undefined || this.#draining || performance.now() - this.#touched < rest_ms) {
      return false;
    }
    this.#transcript = undefined;
    this.journal.release();
    return true;
  }

  /**
   * Keeps the journal within its limits: rewrites the oldest finished turns into a checkpoint.
   *
   * @returns whether anything was rewritten.
   */
  async retain(limits: Retention): Promise<boolean> {
    if (this.#compacting) return false;
    this.#compacting = true;
    try {
      const plan = await planCheckpoint(this.id, this.journal, limits);
      if (plan === undefined) return false;
      const { event, end } = plan;
      const line = encodeRecord(event, JSON.stringify(event.data));
      const compaction = await this.journal.compact(line, event.seq, end);
      await this.#betweenCommits(() => compaction.finish());
      return true;
    } finally {
      this.#compacting = false;
    }
  }

  #requireKept(since_seq: number): void {
    const { trimmed_seq } = this.journal;
    if (since_seq >= trimmed_seq) return;
    const oldest_seq = trimmed_seq + 1;
    throw new SvcError(
      "journal_trimmed",
      `events up to ${trimmed_seq} of session ${this.id} are in a checkpoint`,
      {
        hint: `session.transcript has their outcome; subscribe with since_seq ${trimmed_seq}`,
        details: { oldest_seq },
      },
    );
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
    try {
      // An open file can be written long after it was deleted, with its directory or alone.
      Deno.lstatSync(this.journal.path);
    } catch (cause) {
      throw this.#unwritable(cause);
    }
    await this.closeStrayTurn("error");
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
      ended: Promise.resolve(),
    };
    this.#turn = turn;
    turn.ended = this.#runTurn(turn).finally(() => {
      this.#turn = undefined;
      this.#approvals.clear();
      this.#startTurn();
    });
  }

  async #runTurn(turn: RunningTurn): Promise<void> {
    let end: TurnEnd;
    try {
      await this.emit("turn.started", { turn_id: turn.turn_id, model: this.state.model });
      await this.moveLane(MAIN_LANE, "running", "a turn started", "turn_started");
      end = await this.#parts.runTurn(this, turn);
    } catch (error) {
      end = { stop_reason: "error", error: messageOf(error) };
    }
    // What it was asked to do outranks how its parts failed while they were torn down; a turn that
    // reached its end before it was cut off is whole.
    if (turn.stop_reason !== undefined && (turn.signal.aborted || end.stop_reason !== "ok")) {
      end = { stop_reason: turn.stop_reason };
    }
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
    for (const lane of this.state.lanes) {
      if (lane.lane_id === MAIN_LANE || laneEnded(lane)) continue;
      await this.moveLane(lane.lane_id, "cancelled", "its turn ended", end.stop_reason);
    }
    if (findLane(this.state, MAIN_LANE)?.status === "blocked") {
      await this.moveLane(MAIN_LANE, "running", "its turn ended", end.stop_reason);
    }
    const { text = "", usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 } } =
      this.state.turn ?? {};
    await this.emit("turn.completed", { turn_id, message: text, usage, ...end });
  }

  /** Ends a turn that is open in the journal though nothing runs it: after a crash or a full disk. */
  async closeStrayTurn(stop_reason: StopReason): Promise<void> {
    if (this.#turn !== undefined || this.state.turn === undefined) return;
    const { turn_id } = this.state.turn;
    this.#closing_stray ??= this.#completeTurn(turn_id, { stop_reason })
      .finally(() => this.#closing_stray = undefined);
    await this.#closing_stray;
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
  async kill(): Promise<void> {
    this.#requireOpen();
    this.#closing = true;
    await this.#stopTurn("cancelled", 0);
    if (this.state.turn) {
      await this.#completeTurn(this.state.turn.turn_id, { stop_reason: "cancelled" });
    }
    await this.moveLane(MAIN_LANE, "cancelled", "the session was killed", "killed");
    await this.emit("session.ended", { reason: "killed" });
    this.#transcript = undefined;
    this.journal.release();
  }

  /** Lets go of subscribers and files; for the daemon's stop, after everything is recorded. */
  async release(): Promise<void> {
    const delivered = [...this.#subscriptions].map((subscription) => subscription.delivered);
    await within(Promise.all(delivered), DELIVER_GRACE_MS);
    const error = new SvcError("shutting_down", "the daemon is stopping", {
      hint: "subscribe again with since_seq when it is back",
    });
    for (const subscription of [...this.#subscriptions]) subscription.end(error);
    this.journal.release();
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

  // ── approvals ────────────────────────────────────────────────────────────────────────────────

  /**
   * Asks for a decision and waits for it.
   *
   * @throws {DOMException} AbortError when the turn is stopped first.
   */
  async askApproval(
    request: Omit<EventData["approval.requested"], "approval_id">,
    turn: Turn,
  ): Promise<Decision> {
    turn.soft.throwIfAborted();
    const approval_id = this.#parts.ids.next("appr");
    const decided = Promise.withResolvers<Decision>();
    decided.promise.catch(() => {});
    this.#approvals.set(approval_id, decided.resolve);
    const stopped = () => decided.reject(turn.soft.reason);
    turn.soft.addEventListener("abort", stopped, { once: true });
    try {
      await this.emit("approval.requested", { approval_id, ...request });
      await this.#blockMain(true);
      const decision = await decided.promise;
      await this.#blockMain(false);
      return decision;
    } finally {
      turn.soft.removeEventListener("abort", stopped);
      this.#approvals.delete(approval_id);
    }
  }

  async #blockMain(blocked: boolean): Promise<void> {
    if (blocked) {
      await this.moveLane(MAIN_LANE, "blocked", "waits for an approval", "approval");
    } else if (this.state.pending_approvals.length === 0) {
      await this.moveLane(MAIN_LANE, "running", "the approval was decided", "approval");
    }
  }

  /**
   * Decides a pending approval.
   *
   * @param by who decided, for the record.
   * @throws {SvcError} not_found when none of that id is pending.
   */
  async approve(approval_id: string, decision: Decision, by: string): Promise<void> {
    const resolve = this.#approvals.get(approval_id);
    if (resolve === undefined) {
      throw new SvcError(
        "not_found",
        `no approval ${approval_id} is pending in session ${this.id}`,
      );
    }
    this.#approvals.delete(approval_id);
    await this.emit("approval.resolved", { approval_id, decision, by });
    resolve(decision);
  }
}

async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  try {
    await deadline(promise, ms);
    return true;
  } catch {
    return false;
  }
}
