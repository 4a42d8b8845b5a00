import { isAbsolute } from "@std/path";
import { SvcError } from "../../platform/errors.ts";
import type { Deliverable, Executor, TaskContext, TaskRequest } from "../task.ts";

/** A session that works on a task's prompt. */
export interface TaskSession {
  session_id: string;
  /** How its turn ended; never rejects. */
  turn: Promise<{
    stop_reason: string;
    message: string;
    error?: string;
    usage?: Record<string, unknown>;
  }>;
  /** Ends the session; resolves when its processes are gone. */
  stop(): Promise<void>;
}

export interface SessionExecutorParts {
  /**
   * Starts a session and gives it the prompt.
   *
   * @throws {SvcError} validation when workdir or model will not do.
   */
  start(
    options: { task_id: string; workdir: string; prompt: string; model?: string },
  ): Promise<TaskSession>;
}

/** Makes the executor of `code` tasks: an agent session in `extra.workdir`, which may do all. */
export function sessionExecutor({ start }: SessionExecutorParts): Executor {
  return {
    task_type: "code",
    check: (request) => void optionsOf(request),
    async run(request: TaskRequest, { task_id, signal, note }: TaskContext): Promise<Deliverable> {
      const session = await start({ task_id, ...optionsOf(request) });
      const aborted = Promise.withResolvers<never>();
      aborted.promise.catch(() => {});
      const onAbort = () => aborted.reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        signal.throwIfAborted();
        note(`session ${session.session_id}`);
        const turn = await Promise.race([session.turn, aborted.promise]);
        if (turn.stop_reason !== "ok") throw new Error(failure(session.session_id, turn));
        const summary = turn.message.trim();
        return { summary, size: new TextEncoder().encode(summary).length, usage: turn.usage };
      } finally {
        signal.removeEventListener("abort", onAbort);
        await session.stop();
      }
    },
  };
}

function failure(
  session_id: string,
  { stop_reason, error }: { stop_reason: string; error?: string },
): string {
  const why = error === undefined ? "" : `: ${error}`;
  return `the turn of session ${session_id} ended with "${stop_reason}"${why}`;
}

/** @throws {SvcError} validation. */
function optionsOf({ description, query, extra = {} }: TaskRequest) {
  const { workdir, model } = extra;
  if (typeof workdir !== "string" || !isAbsolute(workdir)) {
    throw new SvcError(
      "validation",
      `a code task needs extra.workdir, an absolute path; got ${JSON.stringify(workdir) ?? "none"}`,
    );
  }
  if (model !== undefined && typeof model !== "string") {
    throw new SvcError("validation", "extra.model must be <provider>/<model>");
  }
  return { workdir, model, prompt: [description, query].filter(Boolean).join("\n\n") };
}
