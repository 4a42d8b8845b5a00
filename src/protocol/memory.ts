/** What the memory consists of, and which session sees what of it (contract.md section 4). */
import type * as z from "zod";
import type { entrySchema, proposalSchema } from "./schemas/memory.ts";

/** What an entry is about. */
export const CATEGORIES = [
  "fact",
  "preference",
  "pattern",
  "gotcha",
  "anti_pattern",
  "fix",
] as const;
export type Category = typeof CATEGORIES[number];

/**
 * For whom an entry holds:
 *
 * - `Session`: the session that wrote it.
 * - `Worker`: the sessions of the same working directory.
 * - `AllSessions`: every session of this user that is trusted.
 * - `Global`: every session, the untrusted ones of hired work too.
 * - `Always`: as `Global`, and every prompt has it, whatever the prompt is about.
 */
export const SCOPES = ["Session", "Worker", "AllSessions", "Global", "Always"] as const;
export type Scope = typeof SCOPES[number];

/** One thing that is remembered. Only a client changes it; whatever works by itself adds another. */
export type Entry = z.output<ReturnType<typeof entrySchema>>;

/** What is to be remembered. */
export type Proposal = z.output<ReturnType<typeof proposalSchema>>;

/** What of an entry is to be another. */
export type Changes = Partial<Proposal>;

/** What `memory.query` knows an entry by: its category leads, so that a prefix picks one. */
export function keyOf({ category, entry_id }: Entry): string {
  return `${category}/${entry_id}`;
}

/** Characters of an entry's content and of a tag; number of tags. */
export const CONTENT_MAX = 2_000;
export const TAG_MAX = 60;
export const TAGS_MAX = 10;

/** The tools by which a model uses the memory; the curator asks under the same name. */
export const REMEMBER = "remember";
export const RECALL = "recall";

/** Whether an entry of this scope reaches hired work, or every prompt. */
export function reachesFar(scope: Scope | undefined): boolean {
  return scope === "Global" || scope === "Always";
}
