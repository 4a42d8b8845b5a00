/** Steps of tasks, made on what the server has and told to the index at once. */
import { TASK_ID } from "../task.ts";
import { type Bucket, NONE, type Revision } from "./bucket.ts";
import type { TaskIndex } from "./index.ts";
import type { StoredTask } from "./transitions.ts";

/** What came of a change. */
export interface Change {
  /** The task as it stands now. */
  task: StoredTask;
  /** Whether this has changed it. */
  changed: boolean;
}

export class Steps {
  readonly #bucket: Bucket;
  readonly index: TaskIndex;

  constructor(bucket: Bucket, index: TaskIndex) {
    this.#bucket = bucket;
    this.index = index;
  }

  /** A task as it stands. @throws {SvcError} unavailable. */
  async get(id: string): Promise<Revision<StoredTask> | undefined> {
    if (!TASK_ID.test(id)) return undefined;
    return this.#told(await this.#bucket.get<StoredTask>(key(id)));
  }

  /** Adds a task. @returns undefined when it is there already. @throws as {@linkcode Bucket.write}. */
  create(task: StoredTask): Promise<Revision<StoredTask> | undefined> {
    return this.update(task, NONE);
  }

  /**
   * Makes a step.
   *
   * @param before the revision of the step before it.
   * @returns undefined when another was made meanwhile.
   * @throws as {@linkcode Bucket.write}.
   */
  async update(value: StoredTask, before: number): Promise<Revision<StoredTask> | undefined> {
    const revision = await this.#bucket.write(key(value.record.id), value, before);
    return this.#told(revision === undefined ? undefined : { value, revision });
  }

  /**
   * Makes a step whatever else is made meanwhile.
   *
   * @param next the step from a task as it stands; undefined when none is to be made.
   * @returns undefined when there is no such task.
   * @throws {SvcError} unavailable.
   */
  async change(
    id: string,
    next: (task: StoredTask) => StoredTask | undefined,
  ): Promise<Change | undefined> {
    if (!TASK_ID.test(id)) return undefined;
    const { now, changed } = await this.#bucket.change<StoredTask>(
      key(id),
      (task) => task && next(task),
    );
    this.#told(now);
    return now && { task: now.value, changed };
  }

  #told(step: Revision<StoredTask> | undefined): Revision<StoredTask> | undefined {
    if (step !== undefined) this.index.apply(step);
    return step;
  }
}

function key(id: string): string {
  return `${id}.record`;
}
