/** The entries of the memory. */
import * as z from "zod";
import { CATEGORIES, CONTENT_MAX, SCOPES, TAG_MAX, TAGS_MAX } from "../memory.ts";

export const entry_id = () => z.string().min(1).max(100);
export const content = () => z.string().trim().min(1).max(CONTENT_MAX);
export const tags = () => z.array(z.string().trim().min(1).max(TAG_MAX)).max(TAGS_MAX);
export const timestamp = () => z.iso.datetime();

export const entrySchema = () =>
  z.object({
    entry_id: entry_id().describe("mem_<ULID>"),
    category: z.enum(CATEGORIES),
    scope: z.enum(SCOPES),
    owner: z.string().describe("Session id or working directory that the entry belongs to, if any"),
    content: z.string(),
    tags: z.array(z.string()),
    content_sha: z.string().describe("SHA-256 of the content, in hex"),
    created_at: timestamp(),
    updated_at: timestamp().describe("When the entry was last changed, or remembered again"),
    written_by: z.string().describe(
      "Session whose model wrote the entry; empty if a person wrote it",
    ),
    approved: z.boolean().describe(
      "Whether a person wrote, approved or changed the entry; hired work sees only such entries",
    ),
  });

export const proposalSchema = () =>
  z.strictObject({
    content: content(),
    category: z.enum(CATEGORIES),
    scope: z.enum(SCOPES).optional().describe(
      "Who sees it: this Session, sessions of this directory (Worker, the default), AllSessions of " +
        "the person (default of a preference), Global: hired ones too, Always: every prompt",
    ),
    tags: tags().optional(),
  });
