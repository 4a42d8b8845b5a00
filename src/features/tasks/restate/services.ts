/** The services of a worker, as Restate's SDK defines them. */
import {
  createEndpointHandler,
  handlers,
  object,
  type ObjectContext,
  type ObjectSharedContext,
  RestatePromise,
  workflow,
  type WorkflowContext,
  type WorkflowSharedContext,
} from "@restatedev/restate-sdk";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { messageOf } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { ArtifactStore } from "../artifacts.ts";
import type { Deliver } from "../callbacks.ts";
import {
  type Api,
  type Args,
  type Entry,
  type Held,
  type Holder,
  type Orphan,
  orphanKey,
  QUEUE_KEY,
  type Run,
  runService,
  type Settled,
  type Taker,
} from "./api.ts";
import { call, send } from "./calls.ts";
import { emptyQueue, Queue, type QueueData } from "./queue.ts";
import type { Runs } from "./runs.ts";
import { taskHandlers } from "./task_object.ts";

export interface ServiceParts {
  task_types: readonly string[];
  runs: Runs;
  artifacts: ArtifactStore;
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
  /** A worker that hangs must not hold the queue for long; a callback takes 10 s at most. */
  inactivityTimeout: 20_000,
  abortTimeout: 20_000,
  /** A worker that is away for a while must not leave anything behind that waits for a person. */
  retryPolicy: {
    initialInterval: 50,
    exponentiationFactor: 2,
    maxInterval: 5_000,
    maxAttempts: undefined,
  },
};

/** How long an attempt waits before it asks again for its target, or lets another machine try. */
const TARGET_MS = 1_000;
const MOVE_MS = 5_000;

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
      object({ name: "svc-target", handlers: targetHandlers(), options: OPTIONS }),
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

function targetHandlers() {
  const same = (a: Taker, b: Taker) => a.task_id === b.task_id && a.run === b.run;
  return {
    async take(ctx: ObjectContext, { task_id, run, machine }: Taker): Promise<{ held?: Held }> {
      const taker = { task_id, run, machine };
      const held = await ctx.get<Held>("held");
      // What a dead process has left is on its machine, where a lock of that machine waits for it.
      const free = held === null || same(held, taker) || (held.left && held.machine === machine);
      if (!free) return { held };
      ctx.set("held", taker);
      return {};
    },
    async free(ctx: ObjectContext, { left, ...taker }: Taker & { left: boolean }) {
      const held = await ctx.get<Held>("held");
      if (held === null || !same(held, taker)) return;
      if (left) ctx.set("held", { ...held, left });
      else ctx.clear("held");
    },
  };
}

/** The handlers of one attempt. */
function runHandlers({ runs }: ServiceParts) {
  return {
    async run(ctx: WorkflowContext, input: Run): Promise<Settled> {
      // The process that writes this has the attempt; another one waits for it, or finds it lost.
      const { attemptCompletedSignal: over } = ctx.request();
      runs.called(input, over);
      const held = await ctx.run("holder", () => runs.hold(input, over));
      const target = input.request.task_type === "deploy"
        ? await ctx.run("target", () => runs.target(input))
        : null;
      const ended = target === null
        ? await attempt(ctx, input, held)
        : await alone(ctx, target, input, held);
      runs.forget(input);
      if (ended === undefined) return { ended: true, run: input.run };
      return await call(ctx, "svc-task", input.id, "settle", {
        now: await ctx.date.now(),
        run: input.run,
        outcome: ended,
        worker: held.worker,
        lost: ended.kind === "lost" ? held.process : undefined,
      });
    },
    async cancel(ctx: WorkflowSharedContext) {
      await ctx.promise<true>("cancelled").resolve(true);
    },
  };

  /** Returns how it ended; undefined when it was cancelled. */
  async function attempt(ctx: WorkflowContext, input: Run, held: Holder, target?: string) {
    const { attemptCompletedSignal: over } = ctx.request();
    const ended = await orCancelled(ctx, ctx.run("attempt", () => runs.outcome(input, held, over)));
    const here = ended !== undefined ||
      // If another process has it, that one learns it with its next sign of life.
      await ctx.run("stop", () => runs.stop(input));
    if (ended === undefined) send(ctx, "svc-orphan", orphanKey(input, held), "give_up", {});
    else runs.forget(input);
    if (target !== undefined) {
      const taker = { task_id: input.id, run: input.run, machine: held.machine };
      send(ctx, "svc-target", target, "free", { ...taker, left: !here || ended?.kind === "lost" });
    }
    return ended;
  }

  /** Runs an attempt when no other one works on its target. */
  async function alone(ctx: WorkflowContext, target: string, input: Run, held: Holder) {
    const taker = { task_id: input.id, run: input.run, machine: held.machine };
    for (let waited = false;; waited = true) {
      const { held: other } = await call(ctx, "svc-target", target, "take", taker);
      if (other === undefined) return await attempt(ctx, input, held, target);
      if (!waited) {
        const text = other.left
          ? `waits for ${other.machine}, where a dead worker may have left a command running`
          : `waits for task ${other.task_id}, which works on the same target`;
        const notes = [{ now: await ctx.date.now(), text }];
        send(ctx, "svc-task", input.id, "note", { run: input.run, notes });
      }
      const wait_ms = other.left ? MOVE_MS : TARGET_MS;
      if (await orCancelled(ctx, ctx.sleep(wait_ms).map(() => true)) === undefined) return;
      // Perhaps that machine takes it next time.
      if (other.left) return { kind: "returned", reason: `for ${other.machine}` } as const;
    }
  }
}

/** Waits for a result; undefined when the attempt is cancelled first. */
async function orCancelled<T>(ctx: WorkflowContext, work: RestatePromise<T>) {
  const cancelled = ctx.promise<true>("cancelled").get();
  return await RestatePromise.race([work.map((it) => it), cancelled.map(() => undefined)]);
}
