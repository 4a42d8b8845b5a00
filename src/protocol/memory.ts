/** Entries of the memory and who sees them (contract.md section 4). */
import type * as z from "zod";
import type { entrySchema, proposalSchema } from "./schemas/memory.ts";

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
 * Who sees an entry:
 *
 * - `Session`: the session that wrote it.
 * - `Worker`: sessions of the same workdir.
 * - `AllSessions`: this user's trusted sessions.
 * - `Global`: all sessions, also untrusted ones of hired work.
 * - `Always`: as `Global`, and every prompt includes it.
 */
export const SCOPES = ["Session", "Worker", "AllSessions", "Global", "Always"] as const;
export type Scope = typeof SCOPES[number];

/** Only clients change an entry; the daemon itself adds another. */
export type Entry = z.output<ReturnType<typeof entrySchema>>;

/** An entry to add. */
export type Proposal = z.output<ReturnType<typeof proposalSchema>>;

/** Fields to change. */
export type Changes = Partial<Proposal>;

/** An entry's key for `memory.query`, with its category first, so that a prefix picks one. */
export function keyOf({ category, entry_id }: Entry): string {
  return `${category}/${entry_id}`;
}

/** Limits: characters of content and of a tag, number of tags. */
export const CONTENT_MAX = 2_000;
export const TAG_MAX = 60;
export const TAGS_MAX = 10;

/** The model's tools for the memory; the curator asks under the first name. */
export const REMEMBER = "remember";
export const RECALL = "recall";

/** Whether the scope includes hired work. */
export function reachesFar(scope: Scope | undefined): boolean {
  return scope === "Global" || scope === "Always";
}
