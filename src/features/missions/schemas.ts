import * as z from "zod";

/** Characters of a spec's text. */
export const SPEC_TEXT_MAX = 1024 * 1024;

/** What a text in YAML can have and an object cannot. */
export const TEXT_ONLY = ["comments", "anchors", "tags"] as const;

export const specTextSchema = () =>
  z.object({
    spec: z.record(z.string(), z.unknown()).optional()
      .describe("What the text says, with members that a mission ignores; absent if unreadable"),
    text_only: z.array(z.enum(TEXT_ONLY)).describe("What the text has that `spec` cannot hold"),
    issues: z.array(z.object({ path: z.string(), message: z.string() }))
      .describe("What `mission.create` would refuse"),
  });

export const mission_id = () =>
  z.string().regex(/^m-[0-9A-Z]{26}$/, "must have the shape m-<ULID>");
export const status = () => z.enum(["running", "completed", "failed", "cancelled"]);

export const missionListSchema = () =>
  z.object({
    status: status().optional(),
    limit: z.int().min(1).max(1000).default(100),
    cursor: mission_id().optional().describe("next_cursor of the previous page"),
  });

export const missionLogEntrySchema = () =>
  z.object({
    seq: z.int(),
    at: z.string(),
    task_id: z.string().optional(),
    ac_id: z.string().optional(),
    event: z.string(),
    detail: z.string().optional(),
  });
