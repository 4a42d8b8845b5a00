/** The services of a worker, as Restate's SDK defines them. */
import {
  type Context,
  createEndpointHandler,
  handlers,
  object,
  type ObjectContext,
  type ObjectSharedContext,
  RestatePromise,
  serde,
  workflow,
  type WorkflowContext,
  type WorkflowSharedContext,
} from "@restatedev/restate-sdk";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { messageOf } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Deliver } from "../callbacks.ts";
import {
  type Api,
  type Args,
  type Entry,
  type Orphan,
  QUEUE_KEY,
  type Result,
  type Run,
  runKey,
  runService,
} from "./api.ts";
import { emptyQueue, Queue, type QueueData } from "./queue.ts";
import type { Runs } from "./runs.ts";
import { taskHandlers } from "./task_object.ts";

export interface ServiceParts {
  task_types: readonly string[];
  runs: Runs;
  deliver?: Deliver;
  log: Log;
  /** Public keys of the Restate servers that may call; without any, everyone may. */
  identity_keys: readonly string[];
}

const DAY_MS = 86_400_000;

/** Nothing but a run takes long; its connection is kept, or it could not be cancelled. */
const RUN_OPTIONS = {
  inactivityTimeout: 30 * DAY_MS,
  abortTimeout: 30 * DAY_MS,
  workflowRetention: DAY_MS,
};
const OPTIONS = {
  journalRetention: 0,
  /** A worker that is away for a while must not leave anything behind that waits for a person. */
  retryPolicy: {
    initialInterval: 50,
    exponentiationFactor: 2,
    maxInterval: 5_000,
    maxAttempts: undefined,
  },
};

/** Calls a handler of an object and waits for its result. */
export function call<S extends keyof Api, H extends keyof Api[S] & string>(
  ctx: Context,
  service: S,
  key: string,
  method: H,
  ...[parameter = null]: Args<S, H> | []
): RestatePromise<Awaited<Result<S, H>>> {
  return ctx.genericCall({
    service,
    key,
    method,
    parameter: parameter as unknown,
    inputSerde: serde.json,
    outputSerde: serde.json,
  }) as RestatePromise<Awaited<Result<S, H>>>;
}

/** Calls a handler of an object without waiting; calls of one handler arrive in order. */
export function send<S extends keyof Api, H extends keyof Api[S] & string>(
  ctx: Context,
  service: S,
  key: string,
  method: H,
  parameter: Args<S, H>[0] | null,
  delay_ms?: number,
): void {
  ctx.genericSend({
    service,
    key,
    method,
    parameter: parameter as unknown,
    inputSerde: serde.json,
    delay: delay_ms,
  });
}

/** Starts an attempt. */
export function sendRun(ctx: Context, run: Run): void {
  ctx.genericSend({
    service: runService(run.request.task_type),
    key: runKey(run),
    method: "run",
    parameter: run as unknown,
    inputSerde: serde.json,
  });
}

/** Stops an attempt. */
export function sendCancel(
  ctx: Context,
  task_type: string,
  run: { id: string; run: number },
): void {
  ctx.genericSend({
    service: runService(task_type),
    key: runKey(run),
    method: "cancel",
    parameter: null as unknown,
    inputSerde: serde.json,
  });
}

/** Returns the function that answers Restate's requests. */
export function restateHandler(
  parts: ServiceParts,
): (request: Http2ServerRequest, response: Http2ServerResponse) => void {
  const { task_types, log, identity_keys } = parts;
  return createEndpointHandler({
    services: [
      object({ name: "svc-task", handlers: taskHandlers(parts), options: OPTIONS }),
      object({ name: "svc-queue", handlers: queueHandlers(), options: OPTIONS }),
      object({ name: "svc-page", handlers: pageHandlers(), options: OPTIONS }),
      object({ name: "svc-request", handlers: requestHandlers(), options: OPTIONS }),
      object({ name: "svc-orphan", handlers: orphanHandlers(), options: OPTIONS }),
      ...task_types.map((task_type) =>
        workflow({
          name: runService(task_type),
          handlers: runHandlers(parts),
          options: { ...OPTIONS, ...RUN_OPTIONS },
        })
      ),
    ],
    identityKeys: identity_keys.length > 0 ? [...identity_keys] : undefined,
    logger: ({ level, context }, ...message) => {
      if (level !== "warn" && level !== "error") return;
      const text = message.map((it) => it instanceof Error ? messageOf(it) : String(it)).join(" ");
      log.debug("Restate", { text, invocation: context?.invocationTarget });
    },
  });
}

function queueHandlers() {
  /** Runs a step of the queue, and keeps what it changes. */
  async function step<T>(
    ctx: ObjectContext,
    now: number,
    take: (queue: Queue) => T | Promise<T>,
  ): Promise<T> {
    const data = await ctx.get<QueueData>("queue") ?? emptyQueue();
    const parts = new Map<string, string[]>();
    const queue = new Queue(data, {
      get: async (name) => parts.get(name) ?? await ctx.get<string[]>(name),
      set(name, ids) {
        parts.set(name, ids);
        if (ids.length === 0) ctx.clear(name);
        else ctx.set(name, ids);
      },
    }, {
      grant: (id, turn) => send(ctx, "svc-task", id, "granted", { now, turn }),
      put: (page, entries) => call(ctx, "svc-page", String(page), "put", { entries }),
      drop: (page) => send(ctx, "svc-page", String(page), "drop", null),
    });
    const result = await take(queue);
    ctx.set("queue", data);
    return result;
  }
  type Input<H extends keyof Api["svc-queue"]> = Args<"svc-queue", H>[0];
  return {
    enter: (ctx: ObjectContext, it: Input<"enter">) =>
      step(ctx, it.now, (queue) => queue.enter(it)),
    move: (ctx: ObjectContext, it: Input<"move">) => step(ctx, it.now, (queue) => queue.move(it)),
    missed: (ctx: ObjectContext, it: Input<"missed">) =>
      step(ctx, it.now, (queue) => queue.missed(it)),
    settings: (ctx: ObjectContext, it: Input<"settings">) =>
      step(ctx, it.now, (queue) => queue.set(it)),
    announce: (ctx: ObjectContext, it: Input<"announce">) =>
      step(ctx, it.now, (queue) => queue.announce(it)),
    dropped: (ctx: ObjectContext, it: Input<"dropped">) =>
      step(ctx, 0, (queue) => queue.dropped(it)),
    state: handlers.object.shared(async (ctx: ObjectSharedContext, { now }: Input<"state">) => {
      const data = await ctx.get<QueueData>("queue") ?? emptyQueue();
      const none = { get: () => Promise.resolve(null), set() {} };
      return new Queue(data, none, { grant() {}, put: () => Promise.resolve(), drop() {} }).state(
        now,
      );
    }),
  };
}

function pageHandlers() {
  async function entries(ctx: ObjectSharedContext): Promise<Entry[]> {
    const names = await ctx.stateKeys();
    const found = await Promise.all(names.map((name) => ctx.get<Entry>(name)));
    return found.filter((it) => it !== null);
  }
  return {
    async put(ctx: ObjectContext, { entries }: { entries: Entry[] }) {
      for (const entry of entries) {
        const name = String(entry.seq);
        const earlier = await ctx.get<Entry>(name);
        ctx.set(name, { ...entry, bytes: entry.bytes + (earlier?.bytes ?? 0) });
      }
    },
    get: handlers.object.shared((ctx: ObjectSharedContext) => entries(ctx)),
    async drop(ctx: ObjectContext) {
      const kept = await entries(ctx);
      if (kept.length === 0 || kept.some(({ ended }) => ended === undefined)) return;
      const ended = { completed: 0, failed: 0 };
      const bytes: Record<string, number> = {};
      for (const { id, turn, bytes: size, ended: as } of kept) {
        ended[as!]++;
        bytes[turn] = (bytes[turn] ?? 0) + size;
        send(ctx, "svc-task", id, "forget", null);
      }
      ctx.clearAll();
      send(ctx, "svc-queue", QUEUE_KEY, "dropped", { page: Number(ctx.key), ended, bytes });
    },
  };
}

function requestHandlers() {
  return {
    async claim(ctx: ObjectContext, { task_id }: { task_id: string }) {
      const earlier = await ctx.get<string>("task");
      if (earlier === null) ctx.set("task", task_id);
      return earlier ?? task_id;
    },
    get: handlers.object.shared((ctx: ObjectSharedContext) => ctx.get<string>("task")),
    forget: (ctx: ObjectContext) => Promise.resolve(ctx.clearAll()),
  };
}

function orphanHandlers() {
  async function step(ctx: ObjectContext, take: (orphan: Orphan) => Orphan): Promise<Orphan> {
    const next = take(await ctx.get<Orphan>("orphan") ?? { beats: 0 });
    ctx.set("orphan", next);
    if (next.outcome !== undefined || next.lost) {
      // Long after the attempt has been settled, nobody asks for it.
      send(ctx, "svc-orphan", ctx.key, "forget", null, DAY_MS);
    }
    return next;
  }
  return {
    /** Its process lives. A process that was given up learns it. */
    beat: (ctx: ObjectContext, { outcome }: { outcome?: Orphan["outcome"] }) =>
      step(ctx, (it) => it.lost ? it : { beats: it.beats + 1, outcome: it.outcome ?? outcome }),
    look: handlers.object.shared(async (ctx: ObjectSharedContext) =>
      await ctx.get<Orphan>("orphan") ?? { beats: 0 }
    ),
    /** Gives it up, if wanted only unless it was heard of meanwhile. */
    give_up: (ctx: ObjectContext, { beats }: { beats?: number }) =>
      step(ctx, (it) => {
        const silent = beats === undefined || it.beats === beats;
        return silent && it.outcome === undefined ? { ...it, lost: true } : it;
      }),
    forget: (ctx: ObjectContext) => Promise.resolve(ctx.clearAll()),
  };
}

/** The handlers of one attempt. */
function runHandlers({ runs }: ServiceParts) {
  return {
    async run(ctx: WorkflowContext, input: Run) {
      // The process that writes this has the attempt; another one waits for it, or finds it lost.
      const held = await ctx.run("holder", () => runs.hold());
      const { attemptCompletedSignal: over } = ctx.request();
      const work = ctx.run("attempt", () => runs.outcome(input, held, over));
      const cancelled = ctx.promise<true>("cancelled").get();
      const first = await RestatePromise.race([
        work.map((outcome) => ({ outcome })),
        cancelled.map(() => ({ outcome: undefined })),
      ]);
      if (first.outcome === undefined) {
        await ctx.run("stop", () => runs.stop(input));
        // If another process has it, that one learns it with its next sign of life.
        send(ctx, "svc-orphan", ctx.key, "give_up", {});
        return { ended: true, run: input.run };
      }
      runs.forget(input);
      return await call(ctx, "svc-task", input.id, "settle", {
        now: await ctx.date.now(),
        run: input.run,
        outcome: first.outcome,
        worker: held.worker,
        lost: first.outcome.kind === "lost" ? held.process : undefined,
      });
    },
    async cancel(ctx: WorkflowSharedContext) {
      await ctx.promise<true>("cancelled").resolve(true);
    },
  };
}
