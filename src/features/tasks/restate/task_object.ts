/** The handlers of the object `svc-task`: one task, its log and its callbacks. */
import {
  handlers,
  type ObjectContext,
  type ObjectSharedContext,
  TerminalError,
} from "@restatedev/restate-sdk";
import type { ArtifactStore } from "../artifacts.ts";
import type { CallbackTarget } from "../callback_store.ts";
import { afterTry, type Deliver } from "../callbacks.ts";
import { DETAIL_MAX } from "../lifecycle.ts";
import { bytesOf } from "../quota.ts";
import type { Step } from "../states.ts";
import { CALLBACKS_MAX, hasEnded, type TaskLogEntry } from "../task.ts";
import { type Api, type Args, type Move, QUEUE_KEY } from "./api.ts";
import { requestKey } from "./request_key.ts";
import { call, send, sendCancel, sendRun } from "./calls.ts";
import { type Line, queued, stepped, type StoredTask } from "./stored_task.ts";

type Input<H extends keyof Api["svc-task"]> = Args<"svc-task", H>[0];

const REMOVE_TRIES = 5;
/** How many lines are stored together. */
const LINES_AT_ONCE = 50;

export function taskHandlers(
  { deliver, artifacts }: { deliver?: Deliver; artifacts: Pick<ArtifactStore, "remove"> },
) {
  return {
    async add(ctx: ObjectContext, { now, task: asked, quota }: Input<"add">) {
      const earlier = await stored(ctx);
      if (earlier !== null) return { task: earlier };
      const { id, mode, hired, owner, request, callback } = asked;
      const bytes = bytesOf(request);
      const entry = { now, id, mode, hired, owner, bytes, quota };
      const entered = await call(ctx, "svc-queue", QUEUE_KEY, "enter", entry);
      if ("refused" in entered) return entered;
      const task = { ...queued(asked, now), seq: entered.seq };
      if (callback !== undefined) ctx.set("callbacks", [callback]);
      if (mode === "queue") {
        await say(ctx, id, [{ at: at(now), event: "enqueued", detail: request.task_type }]);
      }
      if (!entered.granted) {
        ctx.set("task", task);
        return { task };
      }
      return { task: await begin(ctx, task, now) };
    },

    get: handlers.object.shared((ctx: ObjectSharedContext) => ctx.get<StoredTask>("task")),

    async granted(ctx: ObjectContext, { now, turn }: Input<"granted">) {
      const task = await ctx.get<StoredTask>("task");
      // One that cannot be read must not keep a worker from others.
      if (isReadable(task) && task.record.status === "queued") await begin(ctx, task, now);
      else send(ctx, "svc-queue", QUEUE_KEY, "missed", { id: ctx.key, turn, now });
    },

    async due(ctx: ObjectContext, { now, run }: Input<"due">) {
      const task = await stored(ctx);
      if (task?.record.status !== "queued" || task.run !== run) return;
      ctx.set("task", { ...task, not_before: undefined });
      leave(ctx, task, { now, from: "backoff", to: "line" });
    },

    async settle(ctx: ObjectContext, { now, run, outcome, worker, lost }: Input<"settle">) {
      const task = await stored(ctx);
      if (task === null) return { ended: true, run };
      const current = task.run === run && task.record.status === "running";
      const named = { ...task, record: { ...task.record, worker } };
      const next = current ? await take(ctx, named, outcome, now) : undefined;
      if (next === undefined) return { ended: hasEnded(task.record), run: task.run };
      if (hasEnded(next.record)) {
        await end(ctx, next, now, "running", lost);
        return { ended: true, run };
      }
      if (task.task.mode === "sync") {
        if (lost !== undefined) {
          send(ctx, "svc-queue", QUEUE_KEY, "announce", { now, process: lost, slots: 0 });
        }
        // Its client waits for it.
        return { ended: false, run: (await begin(ctx, next, now)).run };
      }
      if (outcome.kind === "retry") {
        leave(ctx, next, { now, from: "running", to: "backoff" });
        const wait_ms = Math.max(outcome.not_before - now, 0);
        send(ctx, "svc-task", ctx.key, "due", { now: outcome.not_before, run }, wait_ms);
      } else leave(ctx, next, { now, from: "running", to: "line", lost });
      return { ended: false, run };
    },

    async fail(ctx: ObjectContext, { now, error, cancelled }: Input<"fail">) {
      const task = await stored(ctx);
      if (task === null) return { task, changed: false };
      const { record: { status, task_type }, not_before, run } = task;
      const ended = await take(ctx, task, { kind: "failed", error, cancelled }, now);
      if (ended === undefined) return { task, changed: false };
      const line = not_before === undefined ? "line" : "backoff";
      await end(ctx, ended, now, status === "running" ? "running" : line);
      if (status === "running") sendCancel(ctx, task_type, { id: ctx.key, run });
      return { task: ended, changed: true };
    },

    async note(ctx: ObjectContext, { run, notes }: Input<"note">) {
      if ((await stored(ctx))?.run !== run) return;
      const lines = notes.map(({ now, text }): Line => ({
        at: at(now),
        event: "note",
        detail: text.slice(0, DETAIL_MAX),
      }));
      await say(ctx, ctx.key, lines);
    },

    lines: handlers.object.shared(
      async (ctx: ObjectSharedContext, { since_seq }: Input<"lines">) => {
        const found: TaskLogEntry[] = [];
        for (let part = Math.floor(since_seq / LINES_AT_ONCE);; part++) {
          const lines = await ctx.get<TaskLogEntry[]>(`lines ${part}`);
          if (lines === null) return found.filter(({ seq }) => seq > since_seq);
          found.push(...lines);
        }
      },
    ),

    async set_callback(ctx: ObjectContext, { callback }: Input<"set_callback">) {
      const others = (await callbacks(ctx)).filter(({ id }) => id !== callback.id);
      if (others.length >= CALLBACKS_MAX) return { set: false };
      ctx.set("callbacks", [...others, callback]);
      const task = await stored(ctx);
      if (task !== null && hasEnded(task.record)) {
        send(ctx, "svc-task", ctx.key, "deliver", { id: callback.id, tries: 0 });
      }
      return { set: true };
    },

    async remove_callback(ctx: ObjectContext, { id }: Input<"remove_callback">) {
      ctx.set("callbacks", (await callbacks(ctx)).filter((it) => it.id !== id));
    },

    callbacks: handlers.object.shared(callbacks),

    async deliver(ctx: ObjectContext, { id, tries }: Input<"deliver">) {
      const callback = (await callbacks(ctx)).find((it) => it.id === id);
      const task = await stored(ctx);
      if (callback === undefined || task === null) return;
      const { event, detail, wait_ms, now } = await ctx.run("deliver", async () => {
        // Restate asks again until a worker has them.
        if (deliver === undefined) throw new Error("this worker has no tokens to sign callbacks");
        const due = { ...callback, task_id: ctx.key, tries };
        const failure = await deliver(due, task.record, ctx.request().attemptCompletedSignal)
          .then(() => undefined, (error) => error);
        return { ...afterTry(tries, failure), now: Date.now() };
      });
      await say(ctx, ctx.key, [{ at: at(now), event, detail }]);
      if (wait_ms !== undefined) {
        send(ctx, "svc-task", ctx.key, "deliver", { id, tries: tries + 1 }, wait_ms);
      } else {
        ctx.set("callbacks", (await callbacks(ctx)).filter((it) => it.id !== id));
      }
    },

    async forget(ctx: ObjectContext) {
      const client = (await stored(ctx))?.task.client;
      if (client !== undefined) {
        send(ctx, "svc-request", await requestKey(client), "forget", null);
      }
      ctx.clearAll();
      await ctx.run("artifacts", () => artifacts.remove(ctx.key), {
        maxRetryAttempts: REMOVE_TRIES,
      })
        // What is left in the store is only space.
        .catch(() => {});
    },
  };

  /** Starts the next attempt. */
  async function begin(ctx: ObjectContext, task: StoredTask, now: number): Promise<StoredTask> {
    const next = (await take(ctx, task, { kind: "started" }, now))!;
    const { task: { id, mode, request, hired, max_attempts, timeout_ms }, run, record } = next;
    const attempt = record.attempts;
    // Who waits is told of a failure at once; another attempt follows only if the worker died.
    const last = mode === "sync" ? attempt : max_attempts;
    sendRun(ctx, { id, run, mode, request, hired, attempt, max_attempts: last, timeout_ms });
    return next;
  }

  /** Makes a step and writes the line about it; undefined when another one came first. */
  async function take(ctx: ObjectContext, task: StoredTask, step: Step, now: number) {
    const next = stepped(task, step, now);
    if (next === undefined) return undefined;
    ctx.set("task", next.stored);
    await say(ctx, ctx.key, [next.line]);
    return next.stored;
  }

  async function end(
    ctx: ObjectContext,
    task: StoredTask,
    now: number,
    from: Move["from"],
    lost?: string,
  ): Promise<void> {
    const move = { now, from, to: "ended" as const, record: task.record, lost };
    const { mode, hired } = task.task;
    if (hired && (mode === "sync" || from !== "running")) {
      // Its quota no longer counts it when the client, once answered, asks again.
      await call(ctx, "svc-queue", QUEUE_KEY, "move", { ...moveOf(ctx, task), ...move });
    } else leave(ctx, task, move);
    for (const { id } of await callbacks(ctx)) {
      send(ctx, "svc-task", ctx.key, "deliver", { id, tries: 0 });
    }
  }
}

function leave(
  ctx: ObjectContext,
  task: StoredTask,
  move: Pick<Move, "now" | "from" | "to" | "record" | "lost">,
): void {
  send(ctx, "svc-queue", QUEUE_KEY, "move", { ...moveOf(ctx, task), ...move });
}

function moveOf(ctx: ObjectContext, { seq, task: { mode, hired, owner } }: StoredTask) {
  return { id: ctx.key, seq, mode, hired, owner };
}

async function say(ctx: ObjectContext, task_id: string, lines: Line[]): Promise<void> {
  let seq = await ctx.get<number>("seq") ?? 0;
  for (const line of lines) {
    const name = `lines ${Math.floor(++seq / LINES_AT_ONCE)}`;
    ctx.set(name, [...await ctx.get<TaskLogEntry[]>(name) ?? [], { seq, task_id, ...line }]);
  }
  ctx.set("seq", seq);
}

async function callbacks(ctx: ObjectSharedContext): Promise<CallbackTarget[]> {
  return await ctx.get<CallbackTarget[]>("callbacks") ?? [];
}

async function stored(ctx: ObjectSharedContext): Promise<StoredTask | null> {
  const task = await ctx.get<StoredTask>("task");
  if (task === null || isReadable(task)) return task;
  throw new TerminalError(`cannot read task ${ctx.key}`);
}

/** Whether this version has stored it, or another that stores the same. */
function isReadable(task: Partial<StoredTask> | null): task is StoredTask {
  return task?.record !== undefined && task.task !== undefined;
}

function at(now: number): string {
  return new Date(now).toISOString();
}
