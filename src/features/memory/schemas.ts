import * as z from "zod";
import { CATEGORIES, SCOPES } from "../../protocol/memory.ts";
import { timestamp } from "../../protocol/schemas/memory.ts";
import { LOBES } from "./lobes.ts";

export const lobe = () => z.enum(LOBES);

export const auditRecordSchema = () =>
  z.object({
    ts: timestamp(),
    entry_id: z.string(),
    category: z.string(),
    content_sha: z.string().describe("SHA-256 of the entry's content, in hex"),
    source_msg_id: z.string().describe(
      "The message that the entry came from; `edited` for a change of an entry",
    ),
  });

export const lobeItemSchema = () =>
  z.object({
    lobe: lobe(),
    summary: z.string(),
    status: z.enum(["off", "paused", "idle", "working"]).describe(
      "`off` if daemon.toml turns the lobe off",
    ),
  });

export const keyedEntrySchema = () =>
  z.object({ key: z.string(), value: z.string(), updated_at: z.string() });

export const cursor = () =>
  z.string().regex(/^\d{1,15}$/, "must be the next_cursor of a page")
    .describe("next_cursor of the previous page");

export const entryListSchema = () =>
  z.object({
    scope: z.enum(SCOPES).optional(),
    category: z.enum(CATEGORIES).optional(),
    limit: z.int().min(1).max(1000).default(100),
    cursor: cursor().optional(),
  });

export const entryQuerySchema = () =>
  z.object({
    scope: z.enum(SCOPES),
    key_prefix: z.string().max(500).optional().describe("Keys are <category>/<entry_id>"),
    limit: z.int().min(1).max(1000).default(100),
  });
