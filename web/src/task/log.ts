/** A task's log, as it is written. */
import { signal } from "@preact/signals";
import type { Client } from "../rpc/client.ts";

/** A line of it. */
export interface LogEntry {
  seq: number;
  at: string;
  event: string;
  detail?: string;
}

/** Lines that are kept: the newest. */
const KEPT = 1_000;

export class TaskLog {
  readonly #client: Client;
  readonly #task_id: string;
  readonly #onEntry: () => void;
  readonly entries = signal<readonly LogEntry[]>([]);

  /** @param onEntry told that the task has taken a step. */
  constructor(client: Client, task_id: string, onEntry: () => void) {
    this.#client = client;
    this.#task_id = task_id;
    this.#onEntry = onEntry;
  }

  /** Follows the task until it has ended. @returns what ends it before. */
  start(): () => void {
    return this.#client.subscribe("task.follow", {
      params: () => ({
        task_id: this.#task_id,
        since_seq: this.entries.peek().at(-1)?.seq ?? 0,
      }),
      event: ({ at, type, data }) => {
        const { seq, detail } = data as { seq: number; detail?: string };
        const event = type.replace("task.", "");
        this.entries.value = [...this.entries.peek(), { seq, at, event, detail }].slice(-KEPT);
        this.#onEntry();
      },
      // What there is to say of a task that cannot be read, its record says.
      ended: () => this.#onEntry(),
    });
  }
}
