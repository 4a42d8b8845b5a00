/**
 * The state of all tasks as far as this process knows without a request. The server sends it every
 * step, of any process.
 */
import { hasEnded, type TaskStatus } from "../task.ts";
import type { Revision } from "./bucket.ts";
import type { ClientRef } from "./client_ref.ts";
import type { StoredTask } from "./transitions.ts";

/** The state of a task. */
export interface Standing {
  status: TaskStatus;
  cancelled: boolean;
  /** Whether it occupies a worker of the queue when it runs. */
  queued: boolean;
  revision: number;
  /** When clients last saw a change; ISO 8601. */
  changed_at: string;
  /** The process that runs it. */
  process?: string;
  client?: ClientRef;
}

export class TaskIndex {
  readonly #tasks = new Map<string, Standing>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #onNews: (task: StoredTask, revision: number) => void;

  /** @param onNews called with each new step */
  constructor(onNews: (task: StoredTask, revision: number) => void) {
    this.#onNews = onNews;
  }

  /** Applies a step, unless a later one is known. */
  apply({ value, revision }: Revision<StoredTask>): void {
    const { id } = value.record;
    if (revision <= (this.#tasks.get(id)?.revision ?? 0)) return;
    this.#tasks.set(id, standingOf(value, revision));
    if (hasEnded(value.record)) this.#wake(id);
    this.#onNews(value, revision);
  }

  forget(id: string): void {
    this.#tasks.delete(id);
  }

  /** Removes all tasks; those who wait for one continue to wait. */
  clear(): void {
    this.#tasks.clear();
  }

  get(id: string): Standing | undefined {
    return this.#tasks.get(id);
  }

  /** Resolves when a task has ended, or the signal fires. */
  async ended(id: string, signal: AbortSignal): Promise<void> {
    const standing = this.#tasks.get(id);
    if (signal.aborted || (standing !== undefined && hasEnded(standing))) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(resolve));
    const onAbort = () => resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    await promise;
    signal.removeEventListener("abort", onAbort);
    waiting.delete(resolve);
    if (waiting.size === 0) this.#waiting.delete(id);
  }

  #wake(id: string): void {
    for (const resolve of this.#waiting.get(id) ?? []) resolve();
  }

  counts(): Record<TaskStatus, number> {
    const counts = { queued: 0, running: 0, completed: 0, failed: 0 };
    for (const { status } of this.#tasks.values()) counts[status]++;
    return counts;
  }

  /** The number of queued tasks that are running, on all machines. */
  get busy(): number {
    return this.find(({ status, queued }) => queued && status === "running").length;
  }

  find(fits: (standing: Standing) => boolean): [id: string, Standing][] {
    return [...this.#tasks].filter(([, standing]) => fits(standing));
  }

  /**
   * Returns ids of tasks, newest first, by their ULIDs. @param before only ids older than this one
   */
  newest(
    { state, limit, before }: { state?: TaskStatus; limit: number; before?: string },
  ): string[] {
    return this.find(({ status }) => state === undefined || status === state)
      .map(([id]) => id)
      .filter((id) => before === undefined || id < before)
      .sort().reverse().slice(0, limit);
  }

  /** Returns the oldest ended tasks, except for the newest `keep`. */
  surplus(keep: number): string[] {
    const ended = this.find(hasEnded).map(([id]) => id).sort();
    return ended.slice(0, Math.max(ended.length - keep, 0));
  }

  /** Returns the running tasks of each process. */
  running(): Map<string, string[]> {
    const running = new Map<string, string[]>();
    for (const [id, { process }] of this.find(({ status }) => status === "running")) {
      if (process !== undefined) running.set(process, [...running.get(process) ?? [], id]);
    }
    return running;
  }
}

function standingOf({ record, mode, process, client }: StoredTask, revision: number): Standing {
  const { status, cancelled = false, completed_at, started_at, created_at } = record;
  const changed_at = completed_at ?? started_at ?? created_at;
  return { status, cancelled, queued: mode === "queue", revision, changed_at, process, client };
}
