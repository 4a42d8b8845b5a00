import { ExecutorRegistry } from "./registry.ts";

/**
 * Executors that look at each request before they carry it out: it was taken by another machine, whose
 * operator may allow more.
 */
export function checkedExecutors(executors: ExecutorRegistry): ExecutorRegistry {
  return new ExecutorRegistry(executors.names.map((task_type) => {
    const executor = executors.get(task_type);
    return {
      task_type,
      check: (request, hired) => executor.check?.(request, hired),
      async run(request, context) {
        await executor.check?.(request, context.hired);
        return await executor.run(request, context);
      },
    };
  }));
}
