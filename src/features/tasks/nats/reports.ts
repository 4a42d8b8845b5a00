/**
 * Pending callbacks, in a key beside each task's record. Any front door may send one: it claims the
 * callback for a while.
 */
import type { CallbackTarget, DueCallback, NamedCallback, Reports } from "../callback_store.ts";
import { tooManyCallbacks } from "../common.ts";
import { CALLBACKS_MAX, hasEnded, type TaskRecord } from "../task.ts";
import { type Bucket, type Line, NONE, type Revision } from "./bucket.ts";
import type { Steps } from "./steps.ts";

/** A callback that is still to be sent. */
interface PlannedCallback extends CallbackTarget {
  /** The number of attempts so far. */
  tries: number;
  /** In milliseconds since 1970. */
  not_before: number;
}

/** The callbacks of one task. */
export interface StoredCallbacks {
  callbacks: PlannedCallback[];
  /** Absent in changes that are not in the log. */
  line?: Line;
}

/** How long a claim holds: longer than one attempt takes. */
const TAKEN_MS = 30_000;

export class NatsReports implements Reports {
  readonly #bucket: Bucket;
  readonly #steps: Steps;
  readonly #now: () => number;
  /** The known callbacks by task. */
  readonly #known = new Map<string, Revision<PlannedCallback[]>>();

  /** @param now returns milliseconds since 1970 */
  constructor(bucket: Bucket, steps: Steps, now: () => number) {
    this.#bucket = bucket;
    this.#steps = steps;
    this.#now = now;
  }

  /** Applies a change from the server. */
  apply(task_id: string, { value: { callbacks }, revision }: Revision<StoredCallbacks>): void {
    if (revision <= (this.#known.get(task_id)?.revision ?? 0)) return;
    this.#known.set(task_id, { value: callbacks, revision });
  }

  forget(task_id: string): void {
    this.#known.delete(task_id);
  }

  clear(): void {
    this.#known.clear();
  }

  /** Reports whether a task has pending callbacks. */
  has(task_id: string): boolean {
    return (this.#known.get(task_id)?.value.length ?? 0) > 0;
  }

  /** Adds the callback in a request, before its task exists. */
  async begin(task_id: string, callback: CallbackTarget): Promise<void> {
    const value: StoredCallbacks = { callbacks: [{ ...callback, tries: 0, not_before: 0 }] };
    const revision = await this.#bucket.write(key(task_id), value, NONE);
    if (revision !== undefined) this.apply(task_id, { value, revision });
  }

  /**
   * Adds a callback, or replaces the one with the same id. @throws {SvcError} conflict;
   * unavailable.
   */
  async set(task_id: string, callback: CallbackTarget): Promise<void> {
    await this.#change(task_id, (callbacks) => {
      const others = callbacks.filter(({ id }) => id !== callback.id);
      if (others.length >= CALLBACKS_MAX) throw tooManyCallbacks(task_id);
      return [...others, { ...callback, tries: 0, not_before: 0 }];
    });
  }

  /** Returns the callbacks of a task that are still to be sent. @throws {SvcError} unavailable. */
  async of(task_id: string): Promise<CallbackTarget[]> {
    const found = await this.#bucket.get<StoredCallbacks>(key(task_id));
    const callbacks = found?.value.callbacks ?? [];
    return callbacks.map(({ tries: _, not_before: __, ...target }) => target)
      .sort((a, b) => a.id < b.id ? -1 : 1);
  }

  /** Removes the callback with that id, if there is one. @throws {SvcError} unavailable. */
  async remove(task_id: string, id: string): Promise<void> {
    await this.#change(task_id, (callbacks) => without(callbacks, id));
  }

  due(now: number, horizon_ms: number): DueCallback[] {
    return this.#planned().filter(({ not_before }) => isDue(not_before, now, horizon_ms))
      .map(({ not_before: _, ...callback }) => callback);
  }

  nextDue(): number | undefined {
    const times = this.#planned().map(({ not_before }) => not_before);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Returns the callbacks of ended tasks. */
  #planned(): (DueCallback & PlannedCallback)[] {
    return [...this.#known].flatMap(([task_id, { value }]) => {
      const standing = this.#steps.index.get(task_id);
      if (standing === undefined || !hasEnded(standing)) return [];
      return value.map((callback) => ({ task_id, ...callback }));
    });
  }

  /** Claims a due callback for a while. @returns undefined when another process has claimed it. */
  async take({ task_id, id }: NamedCallback, horizon_ms: number): Promise<TaskRecord | undefined> {
    const now = this.#now();
    const taken = await this.#change(task_id, (callbacks) => {
      const callback = callbacks.find((it) => it.id === id);
      if (callback === undefined || !isDue(callback.not_before, now, horizon_ms)) return undefined;
      return [...without(callbacks, id)!, { ...callback, not_before: now + TAKEN_MS }];
    });
    return taken ? (await this.#steps.get(task_id))?.value.record : undefined;
  }

  async postpone({ task_id, id }: NamedCallback, not_before: number, detail: string, now: number) {
    const line = { at: new Date(now).toISOString(), event: "callback_retry", detail };
    await this.#change(task_id, (callbacks) => {
      const callback = callbacks.find((it) => it.id === id);
      if (callback === undefined) return undefined;
      return [...without(callbacks, id)!, { ...callback, tries: callback.tries + 1, not_before }];
    }, line);
  }

  async end({ task_id, id }: NamedCallback, event: string, detail: string, now: number) {
    const line = { at: new Date(now).toISOString(), event, detail };
    await this.#change(task_id, (callbacks) => without(callbacks, id), line);
  }

  /**
   * @param next returns the new callbacks; undefined to keep them. @returns whether they changed
   */
  async #change(
    task_id: string,
    next: (callbacks: PlannedCallback[]) => PlannedCallback[] | undefined,
    line?: Line,
  ): Promise<boolean> {
    const { now, changed } = await this.#bucket.change<StoredCallbacks>(key(task_id), (stored) => {
      const callbacks = next(stored?.callbacks ?? []);
      return callbacks && { callbacks, line };
    });
    if (now !== undefined) this.apply(task_id, now);
    return changed;
  }
}

function key(task_id: string): string {
  return `${task_id}.callbacks`;
}

function without(callbacks: PlannedCallback[], id: string): PlannedCallback[] | undefined {
  const others = callbacks.filter((it) => it.id !== id);
  return others.length === callbacks.length ? undefined : others;
}

/** A time beyond the horizon was written by a wrong clock. */
function isDue(not_before: number, now: number, horizon_ms: number): boolean {
  return not_before <= now || not_before > now + horizon_ms;
}
