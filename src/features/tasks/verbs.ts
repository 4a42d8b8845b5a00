import * as z from "zod";
import { VERSION } from "../../protocol/version.ts";
import { EFFORTS, TASK_TYPES, TIMEOUT_MS } from "./task.ts";
import { nothing, pushChannel, verbsOf } from "../../verbs/define.ts";
import { pushTaskLog } from "./log_push.ts";
import { TASKS } from "./config.ts";
import type { TaskServices } from "./open.ts";
import { artifactSchema, task_id, taskListSchema, taskSchema } from "./schemas.ts";

const defineVerb = verbsOf<TaskServices>();

/** The limit of a timer. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1;
export const timeout_ms = () => z.int().min(1).max(TIMEOUT_MAX_MS);

const missingType = ({ input }: { input?: unknown }) =>
  input === undefined ? `is required: one of ${TASK_TYPES.join(", ")}` : undefined;

/** Product.md, Task request; contract.md section 9. */
export const request_fields = () => ({
  task_type: z.string({ error: missingType }).min(1).describe(`One of ${TASK_TYPES.join(", ")}`),
  description: z.string().min(1).optional(),
  query: z.string().min(1).optional(),
  effort: z.enum(EFFORTS).default("standard"),
  extra: z.record(z.string(), z.unknown()).optional().describe("Options of the executor"),
});

export const SAYS_NOTHING = "description or query is required";

/** Reports whether a request has a description or a query. */
export function saysSomething(request: { description?: string; query?: string }): boolean {
  return request.description !== undefined || request.query !== undefined;
}

const task_page = () =>
  z.object({ tasks: z.array(taskSchema()), next_cursor: z.string().optional() });
/** Defines a list of tasks. The queue and hired work share one engine and so one list. */
export function listVerb<const N extends string>(name: N) {
  return defineVerb({
    name,
    summary: "Lists the tasks, newest first.",
    access: "read",
    input: taskListSchema,
    output: task_page,
    async handle({ services }, params) {
      return (await services.tasks()).list(params);
    },
  });
}

/** Defines a verb that cancels a task. */
export function cancelVerb<const N extends string>(name: N) {
  return defineVerb({
    name,
    summary: "Cancels a task permanently; waits up to 5 s for its work to stop.",
    access: "write",
    destructive: true,
    idempotent: true,
    input: () => z.object({ task_id: task_id() }),
    output: taskSchema,
    async handle({ services }, { task_id }) {
      return await (await services.tasks()).cancel(task_id);
    },
  });
}

export const taskVerbs = [
  defineVerb({
    name: "task.run",
    summary: "Runs a task immediately and waits until it has ended.",
    access: "write",
    input: () =>
      z.object({ ...request_fields(), timeout_ms: timeout_ms().default(TIMEOUT_MS) }).refine(
        saysSomething,
        SAYS_NOTHING,
      ),
    output: taskSchema,
    async handle({ services, caller, signal, progress }, { timeout_ms, ...asked }) {
      const { consented } = await import("./consent.ts");
      const request = consented(asked, caller, services.config().agent.approval);
      let notes = 0;
      const onNote = (message: string) => progress({ progress: ++notes, message });
      return await (await services.tasks()).run(request, { signal, timeout_ms, onNote });
    },
  }),
  defineVerb({
    name: "task.get",
    summary: "Shows one task.",
    access: "read",
    input: () => z.object({ task_id: task_id() }),
    output: taskSchema,
    async handle({ services }, { task_id }) {
      return (await services.tasks()).get(task_id);
    },
  }),
  listVerb("task.list"),
  cancelVerb("task.cancel"),
  defineVerb({
    name: "task.follow",
    summary: "Streams the lines of a task's log as $/event notifications until the task has ended.",
    access: "read",
    input: () =>
      z.object({
        task_id: task_id(),
        since_seq: z.int().min(0).default(0).describe("The seq of the last line the client has"),
      }),
    output: () => z.object({ sub: z.int() }),
    async handle({ services, caller }, { task_id, since_seq }) {
      const push = pushChannel(
        caller,
        "task.follow",
        "use the local socket or a WebSocket, or poll queue.wal",
      );
      const engine = await services.tasks();
      await engine.get(task_id);
      return { sub: push.open((deliver) => pushTaskLog(engine, task_id, since_seq, deliver)) };
    },
  }),
  defineVerb({
    name: "task.artifact",
    summary: "Shows an artifact of a task; over REST, downloads it.",
    access: "read",
    rest: {
      method: "GET",
      path: "/v1/tasks/:task_id/artifacts/:name",
      status: 200,
      content: true,
    },
    input: () =>
      z.object({ task_id: z.string(), name: z.string().describe("The name of the artifact") }),
    output: artifactSchema,
    async handle({ services }, { task_id, name }) {
      const { findArtifact } = await import("./artifacts.ts");
      return await findArtifact(await services.tasks(), task_id, name);
    },
  }),
  defineVerb({
    name: "task.options",
    summary: "Shows the options that each task type accepts in extra, as JSON Schema.",
    access: "read",
    input: nothing,
    output: () => z.object({ extra: z.record(z.string(), z.record(z.string(), z.unknown())) }),
    async handle({ services }) {
      const { extraSchemas } = await import("./executors/options.ts");
      return { extra: extraSchemas((await services.tasks()).task_types) };
    },
  }),
  defineVerb({
    name: "task.capabilities",
    summary: "Lists the task types that can be run, and the budget.",
    access: "read",
    input: nothing,
    output: () =>
      z.object({
        version: z.string(),
        task_types: z.array(z.string()),
        budget_usd: z.number(),
      }),
    async handle({ services }) {
      return {
        version: VERSION,
        task_types: (await services.tasks()).task_types,
        budget_usd: services.config().of(TASKS).budget_usd,
      };
    },
  }),
];
