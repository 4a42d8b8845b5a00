/** The task engine of a daemon, with the executors that need its parts. Loaded at the first task. */
import type { ModelRegistry } from "../agent/models/registry.ts";
import { messageOf } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import type { Hub } from "../session/hub.ts";
import type { Session } from "../session/session.ts";
import { openTaskEngine, type TaskEngine } from "../tasks/engine.ts";
import { ExecutorRegistry } from "../tasks/executors/registry.ts";
import {
  sessionExecutor,
  type SessionExecutorParts,
  type TaskSession,
} from "../tasks/executors/session.ts";

export interface TaskParts {
  /** Of the database. */
  path: string;
  workers: number;
  log: Log;
  hub: Hub;
  models(): ModelRegistry;
}

/** What the session of a task is called. */
const TITLE = /^task t-[0-9A-Z]{26}$/;

/**
 * Opens the daemon's task engine; sessions of tasks that a crash has left over are ended first.
 *
 * @throws {SvcError} as {@linkcode openTaskEngine}.
 */
export async function openTasks(parts: TaskParts): Promise<TaskEngine> {
  const { path, workers, log, hub } = parts;
  for (const { id, title, state } of await hub.list(false)) {
    if (TITLE.test(title) && state !== "unreadable") await end(id, parts);
  }
  const executors = new ExecutorRegistry([sessionExecutor({ start: starter(parts) })]);
  return await openTaskEngine(path, { executors, log, workers });
}

async function end(session_id: string, { hub, log }: TaskParts): Promise<void> {
  try {
    await hub.kill(session_id);
  } catch (error) {
    log.warn("the session of a task cannot be ended", { session_id, error: messageOf(error) });
  }
}

function starter(parts: TaskParts): SessionExecutorParts["start"] {
  const { hub, models } = parts;
  return async ({ task_id, workdir, prompt, model = models().defaultId() }) => {
    models().check(model);
    const title = `task ${task_id}`;
    const session = await hub.create({ workdir, model, title, approval: "auto" });
    const turn = turnEnd(session);
    const stop = async () => {
      if (!session.final) await end(session.id, parts);
    };
    try {
      await session.send(prompt);
    } catch (error) {
      await stop();
      throw error;
    }
    return { session_id: session.id, turn, stop };
  };
}

/** How the session's first turn ends. */
function turnEnd(session: Session): TaskSession["turn"] {
  const { promise, resolve } = Promise.withResolvers<Awaited<TaskSession["turn"]>>();
  const subscription = session.subscribe({
    deliver(event) {
      if (event.type !== "turn.completed") return;
      const { stop_reason, message, error, usage } = event.data;
      resolve({ stop_reason, message, error, usage: { ...usage } });
    },
    ended: (error) =>
      resolve({ stop_reason: "error", message: "", error: error?.message ?? "the session ended" }),
  }, { deltas: "lane" });
  subscription.start();
  promise.then(() => subscription.close());
  return promise;
}
