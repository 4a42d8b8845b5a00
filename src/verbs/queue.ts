import * as z from "zod";
import { WORKERS_MAX } from "../tasks/task.ts";
import { defineVerb } from "./define.ts";
import {
  cancelVerb,
  listVerb,
  request_fields,
  SAYS_NOTHING,
  saysSomething,
  task,
  timeout_ms,
} from "./task.ts";

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

const entry = () =>
  z.object({
    seq: z.int(),
    at: z.string(),
    task_id: z.string().optional(),
    event: z.string(),
    detail: z.string().optional(),
  });

export const queueVerbs = [
  defineVerb({
    name: "queue.enqueue",
    summary: "Puts a task in the queue; it is on the disk when this answers.",
    access: "write",
    input: () =>
      z.object({
        ...request_fields(),
        max_attempts: z.int().min(1).max(100).optional(),
        timeout_ms: timeout_ms().optional().describe("What one attempt may take"),
      }).refine(saysSomething, SAYS_NOTHING),
    output: task,
    async handle({ services }, { max_attempts, timeout_ms, ...request }) {
      return await (await services.tasks()).enqueue(request, { max_attempts, timeout_ms });
    },
  }),
  defineVerb({
    name: "queue.status",
    summary: "Tells how the queue stands.",
    access: "read",
    input: () => z.object({}),
    output: status,
    async handle({ services }) {
      return (await services.tasks()).status();
    },
  }),
  defineVerb({
    name: "queue.workers",
    summary: "Sets how many tasks of the queue run at once; without a count only tells.",
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
  defineVerb({
    name: "queue.pause",
    summary: "Takes no more tasks from the queue; running ones go on.",
    access: "write",
    idempotent: true,
    input: () => z.object({}),
    output: status,
    async handle({ services }) {
      const engine = await services.tasks();
      await engine.pause();
      return engine.status();
    },
  }),
  defineVerb({
    name: "queue.resume",
    summary: "Takes tasks from the queue again.",
    access: "write",
    idempotent: true,
    input: () => z.object({}),
    output: status,
    async handle({ services }) {
      const engine = await services.tasks();
      await engine.resume();
      return engine.status();
    },
  }),
  listVerb("queue.tasks"),
  cancelVerb("queue.cancel"),
  defineVerb({
    name: "queue.wal",
    summary: "Shows the newest lines of the queue's log: every step of every task.",
    access: "read",
    input: () => z.object({ n: z.int().min(1).max(10_000).default(50) }),
    output: () => z.object({ entries: z.array(entry()) }),
    async handle({ services }, { n }) {
      return { entries: await (await services.tasks()).log({ n }) };
    },
  }),
];
