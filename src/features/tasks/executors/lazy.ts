import type { Executor } from "../task.ts";

/** Returns an executor whose module is loaded for its first task. */
export function lazyExecutor(task_type: string, load: () => Promise<Executor>): Executor {
  let loaded: Promise<Executor> | undefined;
  const executor = () =>
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
  return {
    task_type,
    check: async (request, hired) => await (await executor()).check?.(request, hired),
    exclusive: async (request) => await (await executor()).exclusive?.(request),
    run: async (request, context) => await (await executor()).run(request, context),
    drop: async (...left) => await (await executor()).drop?.(...left),
  };
}
