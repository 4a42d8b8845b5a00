/** A turn: what its runner, the session and the closer of turns know of it. */
import type { StopReason } from "../protocol/events.ts";

/** How a turn ended, as its runner sees it. */
export interface TurnEnd {
  stop_reason: StopReason;
  error?: string;
  /** It may wait for the end of a provider's limit instead. */
  park?: { wait_ms: number; reason: string };
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
  /** It does not wait longer for a provider's limit, but ends with {@linkcode TurnEnd.park}. */
  readonly parks_after_ms?: number;
}

/** A turn as its session keeps it. */
export interface RunningTurn extends Turn {
  left: boolean;
  parks_after_ms?: number;
  /** Whether it answers messages; false for work that only keeps turns off. */
  answers: boolean;
  hard_stop: AbortController;
  soft_stop: AbortController;
  /** Why it was asked to stop. */
  stop_reason?: StopReason;
  /** seq up to which its last model call has seen the messages; undefined before the first call. */
  taken_seq?: number;
  /** seq up to which messages can no longer be withdrawn: the turn is about to answer them. */
  held_seq?: number;
  /** How it ended, as it is recorded. */
  end?: TurnEnd;
  ended: Promise<void>;
}

export function newTurn(turn_id: string, continued: boolean): RunningTurn {
  const hard_stop = new AbortController();
  const soft_stop = new AbortController();
  return {
    turn_id,
    continued,
    left: false,
    answers: false,
    signal: hard_stop.signal,
    soft: AbortSignal.any([soft_stop.signal, hard_stop.signal]),
    hard_stop,
    soft_stop,
    ended: Promise.resolve(),
  };
}
