import * as z from "zod";
import { WORKERS_MAX } from "./limits.ts";
import { nothing, verbsOf } from "../../verbs/define.ts";
import {
  cancelVerb,
  listVerb,
  request_fields,
  SAYS_NOTHING,
  saysSomething,
  timeout_ms,
} from "./verbs.ts";
import type { TaskServices } from "./open.ts";
import { taskLogEntrySchema, taskSchema } from "./schemas.ts";

const defineVerb = verbsOf<TaskServices>();

const status = () =>
  z.object({
    paused: z.boolean(),
    workers: z.int(),
    busy: z.int(),
    queued: z.int(),
    running: z.int(),
    completed: z.int(),
    failed: z.int(),
  });

function switchVerb<const N extends "queue.pause" | "queue.resume">(name: N, summary: string) {
  return defineVerb({
    name,
    summary,
    access: "write",
    idempotent: true,
    input: nothing,
    output: status,
    async handle({ services }) {
      const engine = await services.tasks();
      await (name === "queue.pause" ? engine.pause() : engine.resume());
      return engine.status();
    },
  });
}

export const queueVerbs = [
  defineVerb({
    name: "queue.enqueue",
    summary: "Adds a task to the queue; the task is on disk when the call returns.",
    access: "write",
    input: () =>
      z.object({
        ...request_fields(),
        max_attempts: z.int().min(1).max(100).optional(),
        timeout_ms: timeout_ms().optional().describe("Time limit of one attempt"),
      }).refine(saysSomething, SAYS_NOTHING),
    output: taskSchema,
    async handle({ services, caller }, { max_attempts, timeout_ms, ...asked }) {
      const { consented } = await import("./consent.ts");
      const request = consented(asked, caller, services.config().agent.approval);
      return await (await services.tasks()).enqueue(request, { max_attempts, timeout_ms });
    },
  }),
  defineVerb({
    name: "queue.status",
    summary: "Shows the status of the queue.",
    access: "read",
    input: nothing,
    output: status,
    async handle({ services }) {
      return (await services.tasks()).status();
    },
  }),
  defineVerb({
    name: "queue.workers",
    summary: "Sets how many queued tasks run at once; without a count, shows the current number.",
    access: "write",
    idempotent: true,
    input: () => z.object({ count: z.int().min(0).max(WORKERS_MAX).optional() }),
    output: () => z.object({ workers: z.int(), busy: z.int() }),
    async handle({ services }, { count }) {
      const engine = await services.tasks();
      if (count !== undefined) await engine.setWorkers(count);
      const { workers, busy } = await engine.status();
      return { workers, busy };
    },
  }),
  switchVerb("queue.pause", "Stops taking tasks from the queue; running tasks continue."),
  switchVerb("queue.resume", "Starts taking tasks from the queue again."),
  listVerb("queue.tasks"),
  cancelVerb("queue.cancel"),
  defineVerb({
    name: "queue.wal",
    summary: "Shows the newest lines of the queue's log, one for each step of each task.",
    access: "read",
    input: () => z.object({ n: z.int().min(1).max(10_000).default(50) }),
    output: () => z.object({ entries: z.array(taskLogEntrySchema()) }),
    async handle({ services }, { n }) {
      return { entries: await (await services.tasks()).log({ n }) };
    },
  }),
];
