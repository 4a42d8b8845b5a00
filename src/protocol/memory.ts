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

/** The session that remembers or recalls. */
export interface Reader {
  session_id: string;
  /** Absolute real path. */
  workdir: string;
  /** Untrusted ones do hired work: nothing of this user but what is `Global` is for them. */
  trusted: boolean;
}

/** Whose an entry of a scope is that this session writes. */
export function ownerOf(scope: Scope, { session_id, workdir }: Reader): string {
  return scope === "Session" ? session_id : scope === "Worker" ? workdir : "";
}

/** The scopes, each with its owner, whose entries a session sees. */
export function visibleTo(reader: Reader): [Scope, string][] {
  return SCOPES
    .filter((scope) => reader.trusted || (scope !== "Worker" && scope !== "AllSessions"))
    .map((scope) => [scope, ownerOf(scope, reader)]);
}

/**
 * The scope of what somebody remembers without naming one. What a session learns mostly concerns the
 * project that it works on; a preference is the person's anywhere. A client has no session.
 */
export function defaultScope(category: Category, reader: Reader | undefined): Scope {
  if (reader?.trusted === false) return "Session";
  return reader === undefined || category === "preference" ? "AllSessions" : "Worker";
}

/** Whether a session may write in a scope: an untrusted one speaks to nobody but itself. */
export function mayWrite(scope: Scope, { trusted }: Reader): boolean {
  return trusted || scope === "Session";
}

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

/**
 * Whether what is remembered by itself needs the person's word in a session that asks; a plain fact
 * does not. What {@linkcode reachesFar} needs it in every session.
 */
export function asksFirst({ category, scope }: Proposal): boolean {
  return category !== "fact" || reachesFar(scope);
}

/** What a proposal is about, in a line for the person who decides on it. */
export function describeProposal({ category, content, scope }: Proposal): string {
  const far = scope === "Always" ? ", in every prompt" : "";
  const whom = reachesFar(scope) ? ` for ${scope} (also visible to hired work${far})` : "";
  return `remember as ${category}${whom}: ${content}`;
}

/** What `allow_always` lets through: entries of that category; of a scope that reaches far, this one. */
export function ruleOf({ category, scope, content }: Proposal): string {
  const rule = `${REMEMBER} ${category}`;
  return reachesFar(scope) ? `${rule} for ${scope}: ${content}` : rule;
}
