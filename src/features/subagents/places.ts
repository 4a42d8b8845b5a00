/** How many subagents a session may have: at the same time, and in one turn. */
import { abortable } from "@std/async";

interface Of {
  turn_id: string;
  begun: number;
  running: number;
  waiting: (() => void)[];
}

export class Places {
  readonly #sessions = new Map<string, Of>();

  /**
   * Counts one more subagent of a turn.
   *
   * @returns whether the turn may have it
   */
  admit(session_id: string, turn_id: string, per_turn: number): boolean {
    let of = this.#sessions.get(session_id);
    if (of === undefined) {
      of = { turn_id, begun: 0, running: 0, waiting: [] };
      this.#sessions.set(session_id, of);
    }
    if (of.turn_id !== turn_id) Object.assign(of, { turn_id, begun: 0 });
    if (of.begun >= per_turn) return false;
    of.begun++;
    return true;
  }

  /**
   * Does work as soon as fewer than `parallel` are at work in the session.
   *
   * @throws the signal's reason when it fires before the work has begun
   */
  async take<T>(
    session_id: string,
    parallel: number,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const of = this.#sessions.get(session_id)!;
    while (of.running >= parallel) {
      const free = Promise.withResolvers<void>();
      of.waiting.push(free.resolve);
      try {
        await abortable(free.promise, signal);
      } finally {
        of.waiting = of.waiting.filter((it) => it !== free.resolve);
      }
    }
    if (signal.aborted) {
      of.waiting.shift()?.();
      throw signal.reason;
    }
    of.running++;
    try {
      return await work();
    } finally {
      of.running--;
      of.waiting.shift()?.();
    }
  }

  /** Forgets a session that has ended. */
  forget(session_id: string): void {
    this.#sessions.delete(session_id);
  }
}
