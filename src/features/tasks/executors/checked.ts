import { ExecutorRegistry } from "./registry.ts";

/** Executors that check each request again: another machine accepted it, and may allow more. */
export function checkedExecutors(executors: ExecutorRegistry): ExecutorRegistry {
  return new ExecutorRegistry(executors.names.map((task_type) => {
    const executor = executors.get(task_type);
    return {
      task_type,
      check: (request, hired) => executor.check?.(request, hired),
      exclusive: async (request) => await executor.exclusive?.(request),
      async run(request, context) {
        await executor.check?.(request, context.hired);
        return await executor.run(request, context);
      },
    };
  }));
}
