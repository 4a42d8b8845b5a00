import { SvcError } from "../../../protocol/errors.ts";
import { nearestOf } from "../../../base/nearest.ts";
import type { Executor } from "../task.ts";

export class ExecutorRegistry {
  readonly #executors: ReadonlyMap<string, Executor>;

  constructor(executors: readonly Executor[]) {
    this.#executors = new Map(executors.map((executor) => [executor.task_type, executor]));
  }

  get names(): string[] {
    return [...this.#executors.keys()];
  }

  /** @throws {SvcError} validation, naming the available types */
  get(task_type: string): Executor {
    const executor = this.#executors.get(task_type);
    if (executor !== undefined) return executor;
    const nearest = nearestOf(task_type, this.names);
    throw new SvcError(
      "validation",
      `task_type must be one of ${this.names.join(", ")}; got ${JSON.stringify(task_type)}`,
      { hint: nearest && `did you mean "${nearest}"?` },
    );
  }
}
