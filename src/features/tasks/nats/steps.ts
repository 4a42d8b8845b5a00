/** Writes the steps of tasks to the server, and passes them to the index immediately. */
import type { Step } from "../states.ts";
import { TASK_ID } from "../task.ts";
import { type Bucket, NONE, type Revision } from "./bucket.ts";
import type { TaskIndex } from "./index.ts";
import { stepped, type StoredTask } from "./transitions.ts";

/** The result of a change. */
export interface Change {
  /** The current task. */
  task: StoredTask;
  /** Whether this call changed it. */
  changed: boolean;
}

export class Steps {
  readonly #bucket: Bucket;
  readonly index: TaskIndex;

  constructor(bucket: Bucket, index: TaskIndex) {
    this.#bucket = bucket;
    this.index = index;
  }

  /** Returns a task. @throws {SvcError} unavailable. */
  async get(id: string): Promise<Revision<StoredTask> | undefined> {
    if (!TASK_ID.test(id)) return undefined;
    return this.#told(await this.#bucket.get<StoredTask>(key(id)));
  }

  /**
   * Adds a task. @returns undefined when it already exists. @throws like {@linkcode Bucket.write}.
   */
  create(task: StoredTask): Promise<Revision<StoredTask> | undefined> {
    return this.#write(task, NONE);
  }

  /**
   * Takes a step and writes it.
   *
   * @param from.revision the revision of the task
   * @param from.process the process that runs it from now on
   * @returns undefined when another step came first
   * @throws like {@linkcode Bucket.write}
   */
  async take(
    step: Step,
    { task, revision, now, process }: {
      task: StoredTask;
      revision: number;
      now: number;
      process?: string;
    },
  ): Promise<Revision<StoredTask> | undefined> {
    const next = stepped(task, step, now, process);
    return next && await this.#write(next, revision);
  }

  async #write(value: StoredTask, before: number): Promise<Revision<StoredTask> | undefined> {
    const revision = await this.#bucket.write(key(value.record.id), value, before);
    return this.#told(revision === undefined ? undefined : { value, revision });
  }

  /**
   * Writes a step despite concurrent ones.
   *
   * @param next returns the step after the current task; undefined for none
   * @returns undefined when the task does not exist
   * @throws {SvcError} unavailable
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
