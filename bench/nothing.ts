import { ExecutorRegistry } from "../src/features/tasks/executors/registry.ts";

/** Returns an executor that does nothing: what is measured is what the engine costs. */
export function executors(): ExecutorRegistry {
  return new ExecutorRegistry([{
    task_type: "nothing",
    run: () => Promise.resolve({ summary: "done", size: 4 }),
  }]);
}
