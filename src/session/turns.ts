/** The turns of one session: begun for waiting messages, continued after a cut, stopped, closed. */
import { messageOf, SvcError } from "../protocol/errors.ts";
import { within } from "../base/within.ts";
import {
  type Compacted,
  type CutBy,
  type Delivery,
  type LaterMessage,
  MAIN_LANE,
  type SendOptions,
  type StopReason,
} from "../protocol/events.ts";
import { CompactionRequest } from "./compaction_request.ts";
import { Inbox, type Sent, type Withdrawn } from "./inbox.ts";
import type { Session, SessionParts } from "./session.ts";
import type { SessionState } from "./session_state.ts";
import { isOver, parkedUntil, type Parks, unparked } from "./parked.ts";
import { messageWaits, turnIsDue } from "./state_steps.ts";
import { newTurn, type RunningTurn, type TurnEnd } from "./turn.ts";
import { TurnCloser } from "./turn_closer.ts";
import type { Writer } from "./writer.ts";

/** How long the tools of a stopped turn may take to stop. */
export const STOP_GRACE_MS = 5_000;
/** How long the tools that have not stopped by then are waited for, while they are killed. */
const KILL_GRACE_MS = 2_000;
/** How often in a row a crash may cut a turn off before it no longer goes on by itself. */
const CRASHES_MAX = 3;

interface Owner {
  session: Session;
  writer: Writer;
  /** Whether the session takes a new turn; it does not while it is being paused or ended. */
  open(): boolean;
}

export class Turns {
  readonly inbox: Inbox;
  readonly closer: TurnCloser;
  readonly #session: Session;
  readonly #state: SessionState;
  readonly #writer: Writer;
  readonly #open: () => boolean;
  readonly #parts: SessionParts;
  readonly #compaction = new CompactionRequest();
  #turn: RunningTurn | undefined;
  /** Messages on their way into the journal. */
  #delivering = 0;
  /** What has cut off the turn that is open in the journal and waits to go on. */
  #left: CutBy | undefined;

  constructor({ session, writer, open }: Owner, parts: SessionParts) {
    const { state, lanes } = session;
    this.#session = session;
    this.#writer = writer;
    this.#open = open;
    this.#parts = parts;
    this.#state = state;
    this.inbox = new Inbox(state, () => this.#turn);
    this.closer = new TurnCloser({
      state,
      writer,
      lanes,
      hasTurn: () => this.active,
      mended: () => this.startNext(),
    });
  }

  /** The turn that runs, or the work that no turn may run beside. */
  get running(): RunningTurn | undefined {
    return this.#turn;
  }

  /** Whether a turn runs or waits to go on. */
  get active(): boolean {
    return this.#turn !== undefined || this.#left !== undefined;
  }

  /**
   * Takes a message: starts a turn, or steers the one in flight; with the delivery `queue` it waits
   * for a turn of its own. A second call with the same client_message_id sends nothing and returns
   * the same.
   */
  send(text: string, more: SendOptions): Promise<Sent> {
    return this.inbox.sendOnce(more, () => this.#send(text, more));
  }

  async #send(text: string, { delivery, ...more }: SendOptions): Promise<Sent> {
    this.#writer.requireWritable();
    await this.closer.closeStray("error");
    this.closer.mended();
    const message_id = this.#parts.ids.next("msg");
    const message = { message_id, text, ...more };
    // A command has a turn of its own, in which nothing else is answered.
    const seq = more.run || delivery === "queue" && this.delivery !== undefined
      ? (await this.#session.emit("user.queued", message)).seq
      : await this.#deliver(message);
    // It steers the turn that waits to go on; behind a parked one it waits too.
    if (!this.goOn()) this.startNext();
    return { message_id, seq };
  }

  /** Has the model read a message as soon as it can. @returns its seq. */
  async #deliver(message: LaterMessage): Promise<number> {
    const { delivery } = this;
    const sent = { ...message, ...(delivery && { delivery }) };
    this.#delivering++;
    try {
      return (await this.#session.emit("user.message", sent)).seq;
    } finally {
      this.#delivering--;
    }
  }

  /**
   * Has a waiting message steer the turn, or wait for a turn of its own.
   *
   * @param read returns the text of a message that steers.
   * @returns false when it waits in that way already, or waits no longer.
   */
  async redeliver(
    message_id: string,
    delivery: Delivery,
    by: string,
    read: (seq: number) => Promise<LaterMessage | undefined>,
  ): Promise<boolean> {
    if (delivery === "steer") {
      const later = this.inbox.later.find(({ message }) => message.message_id === message_id);
      if (later === undefined || later.message.run || this.#state.turn?.run !== undefined) {
        return false;
      }
      this.#writer.requireWritable();
      await this.inbox.takeLater(later, () => this.#deliver(later.message));
      if (!this.goOn()) this.startNext();
      return true;
    }
    const waiting = this.inbox.waiting.find((it) => it.message_id === message_id);
    const queued = waiting && await read(waiting.seq);
    if (queued === undefined) return false;
    const taken = await this.inbox.withdraw(
      [message_id],
      (messages) => this.#session.emit("user.withdrawn", { messages, by, queued }),
    );
    this.startNext();
    return taken.length > 0;
  }

  /** How a message reaches the model that is sent now; undefined if it begins a turn. */
  get delivery(): Delivery | undefined {
    // No model reads it while a command of the person runs.
    if (this.#state.turn?.run !== undefined) return "queue";
    if (this.#left !== undefined) return "steer";
    if (this.#turn === undefined) return this.#mayBegin() ? undefined : "queue";
    const { answers, left, soft } = this.#turn;
    return answers && (left || !soft.aborted) ? "steer" : "queue";
  }

  /** Withdraws messages; see {@linkcode Inbox.withdraw}. They are not answered after a restart either. */
  async withdraw(by: string, message_ids?: readonly string[]): Promise<Withdrawn[]> {
    try {
      return await this.inbox.withdraw(
        message_ids,
        (messages) => this.#session.emit("user.withdrawn", { messages, by }),
      );
    } finally {
      this.startNext();
    }
  }

  /** Begins the turn of a message that waits, if one does. */
  startNext(): void {
    if (this.#left !== undefined || !this.#mayBegin()) return;
    if (this.inbox.fresh) this.#begin((turn) => this.#runTurn(turn));
    else this.#startLater();
  }

  /** Begins the turn of the first message that waits for its own. */
  #startLater(): void {
    const [later] = this.inbox.later;
    if (later === undefined || !turnIsDue(this.#state)) return;
    // Its turn must not begin as that of a command.
    if (this.#delivering > 0) return;
    this.#begin(async (turn) => {
      // It is about to be answered: nobody can take it back between two awaits.
      turn.held_seq = Infinity;
      try {
        await this.inbox.takeLater(later, () => this.#session.emit("user.message", later.message));
      } catch (error) {
        this.#warn("could not begin a queued message", error);
        return this.closer.mend();
      }
      await this.#runTurn(turn, { run: later.message.run && later.message.text.slice(1) });
    });
  }

  #mayBegin(): boolean {
    return this.#turn === undefined && this.#open() && !this.closer.mending &&
      this.#state.state === "running";
  }

  /** Has the session at work: no turn begins before it is over. */
  #begin(work: (turn: RunningTurn) => Promise<void>, turn_id?: string): void {
    const turn = newTurn(turn_id ?? this.#parts.ids.next("turn"), turn_id !== undefined);
    this.#turn = turn;
    turn.ended = work(turn).finally(() => {
      this.#turn = undefined;
      this.#session.approvals.turnEnded();
      // Its end is not in the journal, so no commit tells of it.
      if (this.closer.mending) this.#parts.onCommit(this.#session, [], false);
      this.#startCompaction();
      this.startNext();
    });
  }

  /** Whether its turn was cut off and waits to go on: {@linkcode Turns.goOn} has it do so. */
  get waitsToGoOn(): boolean {
    return this.#left !== undefined;
  }

  /** Whether its last turn was cut off and can go on. */
  get cutOff(): boolean {
    if (this.#left !== undefined) return true;
    const { cut } = this.#state;
    return cut !== undefined && cut.started_seq > this.#session.journal.trimmed_seq &&
      this.#goesOn("asked");
  }

  /** Until when its turn waits for the end of a provider's limit, and what that said. */
  get parked(): { until: string; reason: string } | undefined {
    return this.#left === "limit" ? this.#state.turn?.parked : undefined;
  }

  get #parks(): Parks | undefined {
    return this.#parts.parks?.(this.#session);
  }

  /**
   * Has the turn go on that waits for it.
   *
   * @param options `early`: before the end of a limit, because a person asked for it
   * @returns whether one does
   */
  goOn({ early = false } = {}): boolean {
    const after = this.#left;
    const { turn } = this.#state;
    if (after === undefined || turn === undefined || !this.#mayBegin()) return false;
    const { parked } = this;
    if (parked !== undefined && !early && !this.#limitEnded(parked)) return false;
    this.#left = undefined;
    const by = parked !== undefined && early ? "asked" : after;
    this.#begin((it) => this.#runTurn(it, { after: by }), turn.turn_id);
    return true;
  }

  /** Whether a parked turn goes on now; one that no longer may is ended. */
  #limitEnded({ until, reason }: { until: string; reason: string }): boolean {
    if (!isOver(Date.parse(until), Date.now())) return false;
    const parks = this.#parks;
    if (parks !== undefined && !parks.asks) return true;
    const stop_reason = parks === undefined ? "rate_limit" : "interrupted";
    this.dropLeft(stop_reason, reason).catch(() => this.closer.mend());
    return false;
  }

  /**
   * Has the last turn go on by hand, if it was cut off: one that waits for it, or one that has ended as
   * interrupted.
   *
   * @returns its id.
   * @throws {SvcError} `conflict` when a turn runs, or there is none
   * that was cut off.
   */
  async continueTurn(): Promise<string> {
    this.#writer.requireWritable();
    if (this.parked !== undefined) await this.#turn?.ended;
    const { cut } = this.#state;
    const waiting = this.#state.turn?.turn_id;
    if (waiting !== undefined && this.goOn({ early: true })) return waiting;
    if (this.#turn !== undefined) {
      throw new SvcError("conflict", `a turn of session ${this.#state.id} is running`);
    }
    if (cut === undefined || !this.#mayBegin()) {
      throw new SvcError("conflict", `session ${this.#state.id} has no turn that was cut off`, {
        hint: "send a message",
      });
    }
    if (!this.cutOff) {
      throw new SvcError("conflict", `turn ${cut.turn_id} cannot go on`, {
        hint: "send a message that says what to do next; [agent] continue must not be never",
      });
    }
    const begun = Promise.withResolvers<void>();
    this.#begin((turn) => this.#runTurn(turn, { after: "asked", begun }), cut.turn_id);
    await begun.promise;
    return cut.turn_id;
  }

  #goesOn(after: CutBy): boolean {
    return this.#parts.goesOn?.(this.#session, after) ?? false;
  }

  /** Leaves a turn open in the journal for the next daemon. */
  async #leave(): Promise<void> {
    await this.closer.closeLanes("svc was stopped", "interrupted");
    await this.#writer.written();
    this.#left = "stop";
  }

  /**
   * Makes the conversation that the model is given shorter: at once, or before the next model call of
   * the turn in flight.
   *
   * @returns what was recorded; undefined when there is nothing worth leaving out.
   * @throws {SvcError} `conflict` when the session is paused or stopped before it is done.
   */
  compact(): Promise<Compacted | undefined> {
    const compacted = this.#compaction.ask();
    this.#startCompaction();
    return compacted;
  }

  /** Does the compaction that was asked for, if one was. */
  async compactIfAsked(run: () => Promise<Compacted | undefined>): Promise<void> {
    const stopped = () => this.#turn?.soft.aborted ? this.#stoppedError() : undefined;
    await this.#compaction.run(run, stopped);
  }

  #startCompaction(): void {
    if (!this.#compaction.waits || this.#turn !== undefined) return;
    if (this.parked !== undefined) {
      this.#compaction.refuse(this.#parkedError(this.parked));
      return;
    }
    // The turn that goes on does it, between two of its steps.
    if (this.#left !== undefined && this.#state.state === "running") return;
    if (!this.#open() || this.#state.state !== "running") {
      this.#compaction.refuse(this.#stoppedError());
      return;
    }
    this.#begin((turn) =>
      this.compactIfAsked(async () => await this.#parts.compact?.(this.#session, turn))
    );
  }

  /**
   * Has the session at work on something that is not a turn; a message that comes meanwhile waits.
   *
   * @throws {SvcError} `conflict` while a turn runs
   * @throws what `work` throws
   */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const stray = this.#state.turn !== undefined || messageWaits(this.#state);
    if (this.parked !== undefined) throw this.#parkedError(this.parked);
    if (this.#turn !== undefined || stray || !this.#open()) {
      throw new SvcError("conflict", `session ${this.#state.id} is at work`, {
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

  #parkedError({ until }: { until: string }): SvcError {
    return new SvcError("conflict", `session ${this.#state.id} is parked until ${until}`, {
      hint: "continue its turn with session.continue, or cancel it with session.cancel",
    });
  }

  #stoppedError(): SvcError {
    return new SvcError(
      "conflict",
      `session ${this.#state.id} was stopped before it was compacted`,
    );
  }

  /**
   * @param how `after`: what has cut it off, if it goes on; `begun` settles when that is recorded;
   * `run`: the command of the person that it runs
   */
  async #runTurn(
    turn: RunningTurn,
    { after, begun, run }: {
      after?: CutBy;
      begun?: PromiseWithResolvers<void>;
      run?: string;
    } = {},
  ): Promise<void> {
    const { turn_id } = turn;
    let end: TurnEnd;
    turn.answers = true;
    turn.parks_after_ms = this.#parks?.after_ms;
    if (after === undefined) turn.held_seq = this.#state.last_seq;
    try {
      try {
        if (after === undefined) {
          const { model } = this.#state;
          await this.#session.emit("turn.started", { turn_id, model, ...run && { run } });
        } else await this.#session.emit("turn.continued", { turn_id, after });
        begun?.resolve();
      } catch (error) {
        begun?.reject(error);
        throw error;
      }
      // A question that is still open has it blocked.
      if (this.#state.activity === "working") {
        await this.#session.lanes.move(MAIN_LANE, "running", "a turn started", "turn_started");
      }
      end = await this.#parts.runTurn(this.#session, turn);
    } catch (error) {
      end = { stop_reason: "error", error: messageOf(error) };
    }
    // What it was asked to do outranks how its parts failed while they were torn down; a turn that
    // reached its end before it was cut off is whole.
    if (turn.stop_reason !== undefined && (turn.signal.aborted || end.stop_reason !== "ok")) {
      end = { stop_reason: turn.stop_reason };
    }
    const { park, ...unlimited } = end;
    const limited = park === undefined ? undefined : this.#afterLimit(end, park.wait_ms);
    turn.end = end = limited !== undefined && "until" in limited ? unlimited : limited ?? unlimited;
    // Nothing that it began outlives it.
    turn.hard_stop.abort(new DOMException("the turn has ended", "AbortError"));
    try {
      if (turn.left && end.stop_reason === "interrupted" && this.#state.turn !== undefined) {
        return await this.#leave();
      }
      if (limited !== undefined && "until" in limited && this.#state.turn !== undefined) {
        const stopped = await this.#park(turn, { until: limited.until, reason: park!.reason });
        if (stopped === undefined) return;
        turn.end = end = stopped;
      }
      await this.closer.close(turn, end);
    } catch (error) {
      // Ended meanwhile, or unwritable.
      this.#warn("could not record turn.completed", error);
      this.closer.mend();
    }
  }

  #warn(what: string, error: unknown): void {
    this.#parts.log.warn(what, { session_id: this.#state.id, error: messageOf(error) });
  }

  /** Returns until when a turn is parked that a limit has ended, or how it ends. */
  #afterLimit(end: TurnEnd, wait_ms: number): TurnEnd | { until: string } {
    const parks = this.#parks;
    if (parks === undefined) return unparked(end);
    const { deadline_at } = this.#session;
    const { parked_since } = this.#state.turn ?? {};
    const parked = parkedUntil({ wait_ms, parked_since, deadline_at, now: Date.now() });
    if ("refused" in parked) return unparked(end, parked.refused);
    return parks.asks ? unparked({ ...end, stop_reason: "interrupted" }) : parked;
  }

  /** Leaves a turn open until a limit ends. @returns how it ends, if it was stopped meanwhile. */
  async #park(
    turn: RunningTurn,
    parked: { until: string; reason: string },
  ): Promise<TurnEnd | undefined> {
    await this.closer.closeLanes("its turn is parked", "parked");
    await this.#writer.written();
    // Before: who hears of it must find the session parked.
    this.#left = "limit";
    try {
      await this.#session.emit("turn.parked", { turn_id: turn.turn_id, ...parked });
    } catch (error) {
      this.#left = undefined;
      throw error;
    }
    if (turn.stop_reason === undefined || turn.left) return undefined;
    this.#left = undefined;
    return { stop_reason: turn.stop_reason };
  }

  /** What it does. A turn that is open in the journal alone, which could not be written, does not run. */
  get activity(): SessionState["activity"] {
    const { activity } = this.#state;
    const works = this.#turn !== undefined || this.#left !== undefined;
    return activity === "working" && !works ? "idle" : activity;
  }

  /**
   * Closes what a daemon that is gone left open in the journal: its lanes, its commands, and its turn,
   * unless that waits to go on.
   */
  async recover(): Promise<void> {
    const { turn, paused_by } = this.#state;
    const after = turn?.parked ? "limit" : turn?.left ? "stop" : "crash";
    const crashed = after === "crash" && (turn?.crashes ?? 0) + 1 >= CRASHES_MAX;
    const may = turn !== undefined && !crashed && paused_by !== "operator";
    if (may && this.#goesOn(after)) this.#left = after;
    const limited = turn?.parked !== undefined && !this.#parks?.asks;
    await this.closer.closeStray(limited ? "rate_limit" : "interrupted", turn?.parked?.reason);
    for (const { command_id, command } of this.#state.background) {
      await this.#session.emit("background.ended", {
        command_id,
        command,
        reason: "daemon_stopped",
      });
    }
    await this.#session.lanes.cancelOpen(() => true, {
      reason: "its daemon has stopped",
      reason_code: "interrupted",
    });
  }

  /**
   * Cancels the turn in flight and waits, at most 5 s, until it is gone. A message that came during
   * the turn and that no model call has seen gets a turn of its own.
   *
   * @returns whether a turn was cancelled: one that reached its end first was not.
   */
  async cancel(): Promise<boolean> {
    const turn = this.#turn;
    if (turn === undefined) return await this.dropLeft("cancelled");
    await this.stop("cancelled", 0);
    return turn.end?.stop_reason !== "ok";
  }

  /** The daemon is stopping: a turn that can go on is left for the next one. */
  leaveIfItGoesOn(): void {
    if (this.#turn !== undefined) this.#turn.left = this.#goesOn("stop");
  }

  /** The turn that waits no longer goes on. */
  forgetLeft(): void {
    this.#left = undefined;
  }

  /** Ends the turn that waits to go on. @returns whether there was one. */
  async dropLeft(stop_reason: StopReason, error?: string): Promise<boolean> {
    if (this.#left === undefined) return false;
    this.#left = undefined;
    await this.closer.closeStray(stop_reason, error);
    this.#startCompaction();
    this.startNext();
    return true;
  }

  /**
   * Stops the turn in flight.
   *
   * @param grace_ms time to reach a safe point before it is cut off.
   */
  async stop(stop_reason: StopReason, grace_ms: number): Promise<void> {
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
}
