/** Clients that follow the logs of tasks. */
import { FINAL_EVENTS, hasEnded, type TaskLogEntry, type TaskStatus } from "./task.ts";

interface Followed {
  since_seq: number;
  signal: AbortSignal;
  /** Oldest first; throws when there will be no more. */
  entriesAfter(seq: number): TaskLogEntry[];
  status(): TaskStatus;
}

export class Followers {
  /** The wake-up calls of followers, by task. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Reports a new line in a task's log. */
  tell(id: string): void {
    for (const tell of this.#waiting.get(id) ?? []) tell();
  }

  /** Reports that no more lines will follow. */
  tellAll(): void {
    for (const id of [...this.#waiting.keys()]) this.tell(id);
  }

  /** Yields the lines of a task's log as they are written, until its last one or the signal. */
  async *follow(
    id: string,
    { since_seq, signal, entriesAfter, status }: Followed,
  ): AsyncGenerator<TaskLogEntry> {
    let wake = () => {};
    const tell = () => wake();
    const followers = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, followers.add(tell));
    signal.addEventListener("abort", tell, { once: true });
    try {
      for (let seq = since_seq; !signal.aborted;) {
        // Armed before the log is read, so that no line is missed.
        const told = new Promise<void>((resolve) => wake = resolve);
        const entries = entriesAfter(seq);
        for (const entry of entries) {
          yield entry;
          seq = entry.seq;
          if (FINAL_EVENTS.has(entry.event)) return;
        }
        if (entries.length === 0 && hasEnded({ status: status() })) return;
        if (entries.length === 0) await told;
      }
    } finally {
      signal.removeEventListener("abort", tell);
      followers.delete(tell);
      if (followers.size === 0) this.#waiting.delete(id);
    }
  }
}
