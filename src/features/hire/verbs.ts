/**
 * The verbs of hirers, and the only ones of the listener's dispatcher, so that nothing else of the
 * daemon can be reached over it. A hirer's token decides whose tasks it sees.
 */
import * as z from "zod";
import { nothing, pushChannel, verbsOf } from "../../verbs/define.ts";
import type { CallbackTarget } from "../tasks/callback_store.ts";
import type { TaskClient } from "../tasks/client_store.ts";
import { pushTaskLog } from "../tasks/log_push.ts";
import { callbackTargetSchema, taskClientSchema } from "../tasks/queued_schemas.ts";
import {
  artifactSchema,
  clientQuerySchema,
  taskLogEntrySchema,
  taskSchema,
} from "../tasks/schemas.ts";
import type { Hiring } from "./hiring.ts";
import { shownClient } from "./keyed_tasks.ts";
import { capabilitiesSchema } from "./schemas.ts";

const defineVerb = verbsOf<Hiring>();

/** Checked by {@linkcode Hiring.accept}, which knows what is offered. */
const request = () => z.record(z.string(), z.unknown());
const idempotency_key = () =>
  z.string().optional().describe("Header Idempotency-Key: the same key is the same task");
const one = () => z.object({ task_id: z.string() });
const callback = () => callbackTargetSchema().omit({ key_id: true });

export const hireVerbs = [
  defineVerb({
    name: "hire.capabilities",
    summary: "Shows what is offered.",
    access: "read",
    input: nothing,
    output: capabilitiesSchema,
    handle: ({ services: hiring }) => hiring.capabilities(),
  }),
  defineVerb({
    name: "hire.run",
    summary: "Runs a task and waits until it has ended; it is cancelled when its hirer leaves.",
    access: "write",
    input: () => z.object({ request: request(), idempotency_key: idempotency_key() }),
    output: taskSchema,
    async handle({ services: hiring, caller, signal }, { request, idempotency_key }) {
      return await hiring.run(request, caller.key_id, { signal, idempotency_key });
    },
  }),
  defineVerb({
    name: "hire.enqueue",
    summary: "Adds a task to the queue.",
    access: "write",
    input: () =>
      z.object({
        request: request(),
        id: z.string().optional().describe("The id of the task; default: a new one"),
        client: taskClientSchema().omit({ key_id: true }).optional(),
        callbacks: z.array(callback()).default([]),
        idempotency_key: idempotency_key(),
      }),
    output: taskSchema,
    async handle({ services: hiring, caller }, { request, idempotency_key, ...naming }) {
      return await hiring.enqueue(request, caller.key_id, naming, idempotency_key);
    },
  }),
  defineVerb({
    name: "hire.get",
    summary: "Shows a task of the hirer.",
    access: "read",
    input: one,
    output: taskSchema,
    async handle({ services: hiring, caller }, { task_id }) {
      return (await hiring.find(task_id, caller.key_id)).record;
    },
  }),
  defineVerb({
    name: "hire.list",
    summary: "Lists the tasks of the hirer, most recently changed first.",
    access: "read",
    input: clientQuerySchema,
    output: () =>
      z.object({
        tasks: z.array(taskSchema()),
        total: z.int().describe("The number of tasks on all pages together"),
        next_cursor: z.string().optional(),
      }),
    async handle({ services: hiring, caller }, query) {
      return await hiring.listOf(query, caller.key_id);
    },
  }),
  defineVerb({
    name: "hire.task_of",
    summary: "Finds the task that a request of the hirer has created, if it is still there.",
    access: "read",
    input: () => z.object({ request_id: z.string() }),
    output: () => z.object({ task_id: z.string().optional() }),
    async handle({ services: hiring, caller }, { request_id }) {
      return { task_id: await hiring.taskOf(request_id, caller.key_id) };
    },
  }),
  defineVerb({
    name: "hire.cancel",
    summary: "Cancels a task of the hirer.",
    access: "write",
    destructive: true,
    idempotent: true,
    input: one,
    output: taskSchema,
    async handle({ services: hiring, caller }, { task_id }) {
      const { engine } = await hiring.find(task_id, caller.key_id);
      return await engine.cancel(task_id);
    },
  }),
  defineVerb({
    name: "hire.follow",
    summary: "Streams the lines of the log of a task of the hirer until the task has ended.",
    access: "read",
    input: () => one().extend({ since_seq: z.int().min(0) }),
    output: () => z.object({ sub: z.int() }),
    async handle({ services: hiring, caller }, { task_id, since_seq }) {
      const push = pushChannel(caller, "hire.follow", "get the task again");
      const { engine } = await hiring.find(task_id, caller.key_id);
      return { sub: push.open((deliver) => pushTaskLog(engine, task_id, since_seq, deliver)) };
    },
  }),
  defineVerb({
    name: "hire.steps",
    summary: "Returns the lines of the log of a task of the hirer so far.",
    access: "read",
    input: one,
    output: () => z.object({ steps: z.array(taskLogEntrySchema()) }),
    async handle({ services: hiring, caller }, { task_id }) {
      const { engine } = await hiring.find(task_id, caller.key_id);
      return { steps: await engine.steps(task_id) };
    },
  }),
  defineVerb({
    name: "hire.client",
    summary: "Shows what the client of a task calls it.",
    access: "read",
    input: one,
    output: () => z.object({ client: z.custom<TaskClient>().optional() }),
    async handle({ services: hiring, caller }, { task_id }) {
      const { engine } = await hiring.find(task_id, caller.key_id);
      return { client: shownClient(await engine.client(task_id)) };
    },
  }),
  defineVerb({
    name: "hire.artifact",
    summary: "Downloads an artifact of a task of the hirer.",
    access: "read",
    input: () => one().extend({ name: z.string() }),
    output: artifactSchema,
    async handle({ services: hiring, caller }, { task_id, name }) {
      const { engine } = await hiring.find(task_id, caller.key_id);
      const { findArtifact } = await import("../tasks/artifacts.ts");
      return await findArtifact(engine, task_id, name);
    },
  }),
  defineVerb({
    name: "hire.check_callback",
    summary:
      "Checks the address of a callback. Whether it can be reached is decided when it is sent.",
    access: "read",
    input: () =>
      z.object({ url: z.string(), field: z.string().describe("The client's name for it") }),
    output: () => z.object({}),
    handle({ services: hiring }, { url, field }) {
      hiring.checkCallback(field, url);
      return {};
    },
  }),
  defineVerb({
    name: "hire.callbacks",
    summary: "Lists the callbacks of a task that the hirer has requested itself.",
    access: "read",
    input: one,
    output: () =>
      z.object({ context_id: z.string(), callbacks: z.array(z.custom<CallbackTarget>()) }),
    async handle({ services: hiring, caller }, { task_id }) {
      const { engine, context_id } = await hiring.findOwn(task_id, caller.key_id);
      return { context_id, callbacks: await engine.callbacks(task_id) };
    },
  }),
  defineVerb({
    name: "hire.set_callback",
    summary: "Adds a callback to such a task, or replaces the one with the same id.",
    access: "write",
    idempotent: true,
    input: () => one().extend({ callback: callback() }),
    output: () => z.object({}),
    async handle({ services: hiring, caller }, { task_id, callback }) {
      const { engine, key_id } = await hiring.findOwn(task_id, caller.key_id);
      hiring.checkCallback("url", callback.url);
      await engine.setCallback(task_id, { ...callback, key_id });
      return {};
    },
  }),
  defineVerb({
    name: "hire.remove_callback",
    summary: "Removes a callback from such a task.",
    access: "write",
    destructive: true,
    idempotent: true,
    input: () => one().extend({ callback_id: z.string() }),
    output: () => z.object({}),
    async handle({ services: hiring, caller }, { task_id, callback_id }) {
      const { engine } = await hiring.findOwn(task_id, caller.key_id);
      await engine.removeCallback(task_id, callback_id);
      return {};
    },
  }),
];
