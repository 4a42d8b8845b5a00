/** Records the end of turns, also of one that nothing runs: after a crash or a full disk. */
import type { StopReason } from "../protocol/events.ts";
import type { Lanes } from "./lanes.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import type { SessionState } from "./session_state.ts";
import { findLane, messageWaits } from "./state_steps.ts";
import type { RunningTurn, TurnEnd } from "./turn.ts";
import type { Writer } from "./writer.ts";

/** How soon, and how seldom at last, recording the end of a turn is tried again. */
const MEND_MIN_MS = 500;
const MEND_MAX_MS = 30_000;

interface CloserParts {
  state: SessionState;
  writer: Writer;
  lanes: Lanes;
  /** Whether a turn runs or waits to go on: one that is open in the journal is not stray then. */
  hasTurn(): boolean;
  /** Called when nothing is left to mend: a message that waits gets its turn. */
  mended(): void;
}

export class TurnCloser {
  readonly #parts: CloserParts;
  #closing: Promise<void> | undefined;
  #mending: number | undefined;

  constructor(parts: CloserParts) {
    this.#parts = parts;
  }

  /** Whether the end of a turn is still to be recorded; nothing begins before it is. */
  get mending(): boolean {
    return this.#mending !== undefined || this.#closing !== undefined;
  }

  /** Records the end of a turn that ran. */
  async close(turn: RunningTurn, end: TurnEnd): Promise<void> {
    await this.complete(turn.turn_id, end, this.#takenBy(turn, end.stop_reason));
  }

  /** Records the end of the turn that is open in the journal. */
  async complete(turn_id: string, end: TurnEnd, taken_seq?: number): Promise<void> {
    const { state, lanes, writer } = this.#parts;
    const { stop_reason } = end;
    await this.closeLanes("its turn ended", stop_reason);
    if (findLane(state, MAIN_LANE)?.status === "blocked") {
      await lanes.move(MAIN_LANE, "running", "its turn ended", stop_reason);
    }
    // What it said last may still wait to be written.
    await writer.written();
    const { text = "", usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 } } =
      state.turn ?? {};
    const taken = taken_seq === undefined ? {} : { taken_seq };
    await writer.emit("turn.completed", { turn_id, message: text, usage, ...end, ...taken });
  }

  /** Cancels the lanes of the calls that a turn has not ended. */
  closeLanes(reason: string, reason_code: string): Promise<void> {
    return this.#parts.lanes.cancelOpen((lane) => lane.kind === "tool", { reason, reason_code });
  }

  /** Ends a turn that is open in the journal though nothing runs it. */
  async closeStray(stop_reason: StopReason, error?: string): Promise<void> {
    const { state, hasTurn } = this.#parts;
    if (hasTurn() || state.turn === undefined) return;
    this.#closing ??= this.complete(state.turn.turn_id, { stop_reason, error })
      .finally(() => this.#closing = undefined);
    await this.#closing;
  }

  /** Closes the stray turn once the journal can be written again. */
  mend(ms = MEND_MIN_MS): void {
    if (this.#parts.writer.final || this.#mending !== undefined) return;
    this.#mending = setTimeout(async () => {
      try {
        await this.closeStray("error");
        this.mended();
      } catch {
        this.#mending = undefined;
        this.mend(Math.min(2 * ms, MEND_MAX_MS));
      }
    }, ms);
    Deno.unrefTimer(this.#mending);
  }

  mended(): void {
    this.stop();
    this.#parts.mended();
  }

  /** Gives up mending. */
  stop(): void {
    clearTimeout(this.#mending);
    this.#mending = undefined;
  }

  /**
   * Up to which seq a turn that has ended leaves no message to another turn, where the events do not
   * say it. They do when no message came that only a call without an answer has seen.
   */
  #takenBy({ taken_seq }: RunningTurn, stop_reason: StopReason): number | undefined {
    const { state } = this.#parts;
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
}
