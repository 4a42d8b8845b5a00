import * as z from "zod";
import { EFFORTS } from "./efforts.ts";
import { TASK_ID } from "./task_id.ts";

export const task_id = () => z.string().regex(TASK_ID, "must have the shape t-<ULID>");
const task_status = () => z.enum(["queued", "running", "completed", "failed"]);

export const artifactSchema = () =>
  z.object({
    name: z.string(),
    media_type: z.string(),
    size: z.int().describe("In bytes"),
    sha256: z.string(),
    url: z.string(),
  });

export const verificationSchema = () =>
  z.object({
    criterion: z.string(),
    passed: z.boolean(),
    evidence: z.string(),
  });

export const taskLogEntrySchema = () =>
  z.object({
    seq: z.int(),
    at: z.string(),
    task_id: z.string().optional().describe("Absent in lines about the whole queue"),
    event: z.string(),
    detail: z.string().optional(),
  });

/** Product.md, Task record, with svc's own fields. */
export const taskSchema = () =>
  z.object({
    id: task_id(),
    status: task_status(),
    task_type: z.string(),
    effort: z.enum(EFFORTS).optional(),
    subject: z.string().optional().describe("The first words of the request"),
    hired: z.literal(true).optional().describe("Whether the task was requested over the network"),
    created_at: z.string(),
    started_at: z.string().optional().describe("When the last attempt started"),
    completed_at: z.string().optional(),
    summary: z.string().optional(),
    size: z.int().optional().describe("In bytes"),
    error: z.string().optional(),
    attempts: z.int().describe("Number of times that an executor was started for the task"),
    worker: z.string().optional().describe("The machine that ran the task, if there are several"),
    cancelled: z.literal(true).optional(),
    artifacts: z.array(artifactSchema()).optional(),
    verification: z.array(verificationSchema()).optional(),
    usage: z.record(z.string(), z.unknown()).optional(),
  });

export const clientQuerySchema = () =>
  z.object({
    context_id: z.string().optional(),
    status: task_status().optional(),
    cancelled: z.boolean().optional()
      .describe("Selects failed tasks by whether they were cancelled"),
    changed_since: z.string().optional().describe(
      "Selects tasks that changed at that time or later: ISO 8601 in UTC, with milliseconds",
    ),
    limit: z.int().min(1).max(100),
    cursor: z.string().optional().describe("next_cursor of the previous page"),
  });

export const taskListSchema = () =>
  z.object({
    state: task_status().optional(),
    limit: z.int().min(1).max(1000).default(100),
    cursor: z.string().optional().describe("next_cursor of the previous page"),
  });
