/** Tasks as a queue that several machines share keeps them. Loaded only with such a queue. */
import * as z from "zod";
import { EFFORTS } from "./efforts.ts";
import { TASK_ID } from "./task_id.ts";

export const taskRequestSchema = () =>
  z.object({
    task_type: z.string(),
    description: z.string().optional(),
    query: z.string().optional(),
    effort: z.enum(EFFORTS).optional(),
    extra: z.record(z.string(), z.unknown()).optional().describe("Options for the executor"),
  });

export const callbackTargetSchema = () =>
  z.object({
    id: z.string().describe(
      "Distinguishes the callbacks of a task; empty for the one in its request",
    ),
    url: z.string(),
    key_id: z.string().describe(
      "The id of the secret that signs the callback; not the secret itself",
    ),
    push: z.unknown().optional().describe("Opaque JSON for the sender"),
  });

export const taskClientSchema = () =>
  z.object({
    key_id: z.string().describe(
      "The id of the token that the task was requested with; empty without one",
    ),
    request_id: z.string().describe(
      "The id of the request: repeating it with the same token does not create a second task",
    ),
    context_id: z.string().describe("The id by which the client groups its tasks"),
    message: z.unknown().describe("The client's message, in the form of its protocol"),
  });

export const newTaskSchema = () =>
  z.object({
    id: z.string().regex(TASK_ID),
    mode: z.enum(["queue", "sync"]),
    request: taskRequestSchema(),
    hired: z.boolean().describe("Whether a client hired it over the network"),
    owner: z.string().optional().describe("Key id of the token that requested it"),
    max_attempts: z.int().min(1),
    timeout_ms: z.int().min(1).optional(),
    callback: callbackTargetSchema().optional().describe("The callback for its end"),
    client: taskClientSchema().optional().describe("Identity of the task for its client"),
  });
