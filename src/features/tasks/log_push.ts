import { toSvcError } from "../../protocol/errors.ts";
import type { TaskEngine } from "./engine.ts";
import type { Deliver, Pushing } from "../../verbs/define.ts";

/** Streams the lines of a task's log after `since_seq` until it ends. Its connection runs it. */
export function pushTaskLog(
  engine: TaskEngine,
  task_id: string,
  since_seq: number,
  { event, ended }: Deliver,
): Pushing {
  const stop = new AbortController();
  const { signal } = stop;
  return {
    async start() {
      try {
        for await (const entry of engine.follow(task_id, { since_seq, signal })) {
          const { seq, at, event: step, detail } = entry;
          const data_json = JSON.stringify({ task_id, seq, detail });
          await event({ at, type: `task.${step}`, data_json });
        }
        if (!signal.aborted) ended(undefined);
      } catch (error) {
        if (!signal.aborted) ended(toSvcError(error));
      }
    },
    close: () => stop.abort(),
  };
}
