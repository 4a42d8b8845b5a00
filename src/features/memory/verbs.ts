import * as z from "zod";
import { CATEGORIES, SCOPES } from "../../protocol/memory.ts";
import { MAIN_LANE, PUBLISHED } from "../../protocol/events.ts";
import type { Session } from "../../session/session.ts";
import { type Context, nothing, verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { MemoryServices } from "./open.ts";
import { content, entry_id, entrySchema, tags, timestamp } from "../../protocol/schemas/memory.ts";
import { auditRecordSchema, cursor, entryListSchema, lobe, lobeItemSchema } from "./schemas.ts";

const defineVerb = verbsOf<MemoryServices>();

const severity = () => z.enum(["info", "warning", "error"]);

const note = () =>
  z.object({
    seq: z.int().describe("seq of the note's event; also the id of the note"),
    at: timestamp(),
    text: z.string(),
    tags: z.array(z.string()),
    severity: severity(),
    by: z.string(),
  });

function lobeVerb<const N extends "cortex.lobe_pause" | "cortex.lobe_resume">(
  name: N,
  summary: string,
) {
  return defineVerb({
    name,
    summary,
    access: "write",
    idempotent: true,
    input: () => z.object({ lobe: lobe() }),
    output: () => z.object({ lobe: lobe(), paused: z.boolean() }),
    async handle({ services }, { lobe }) {
      const paused = name === "cortex.lobe_pause";
      await (await services.cortex()).setLobePaused(lobe, paused);
      return { lobe, paused };
    },
  });
}

export const cortexVerbs = [
  defineVerb({
    name: "cortex.remember",
    summary: "Saves an entry in the memory for later sessions.",
    access: "write",
    input: () =>
      z.object({
        content: content().describe("A sentence that makes sense on its own"),
        category: z.enum(CATEGORIES),
        scope: z.enum(SCOPES).optional().describe(
          "Default: AllSessions; with session_id, Worker for all but a preference",
        ),
        tags: tags().optional(),
        session_id: session_id().optional()
          .describe("The session that owns the entry, for the scopes Session and Worker"),
      }),
    output: () => z.object({ entry_id: z.string(), is_new: z.boolean() }),
    async handle(context, { session_id, ...proposal }) {
      const session = await sessionOf(context, session_id);
      const cortex = await context.services.cortex();
      const { entry: { entry_id }, is_new } = await cortex.remember(proposal, session);
      return { entry_id, is_new };
    },
  }),
  defineVerb({
    name: "cortex.update",
    summary: "Changes a memory entry; omitted fields keep their values.",
    access: "write",
    destructive: true,
    input: () =>
      z.object({
        entry_id: entry_id(),
        content: content().optional(),
        category: z.enum(CATEGORIES).optional(),
        scope: z.enum(SCOPES).optional(),
        tags: tags().optional().describe("Replaces all tags of the entry"),
        session_id: session_id().optional()
          .describe("The new owner of the entry, for the scopes Session and Worker"),
      }),
    output: entrySchema,
    async handle(context, { entry_id, session_id, ...changes }) {
      const session = await sessionOf(context, session_id);
      return (await context.services.cortex()).update(entry_id, changes, session);
    },
  }),
  defineVerb({
    name: "cortex.list",
    summary: "Lists memory entries, most recently changed first.",
    access: "read",
    input: entryListSchema,
    output: () => z.object({ entries: z.array(entrySchema()), next_cursor: z.string().optional() }),
    async handle({ services }, options) {
      return await (await services.cortex()).list(options);
    },
  }),
  defineVerb({
    name: "cortex.recall",
    summary: "Searches the memory for words in any inflection; best matches first.",
    access: "read",
    input: () =>
      z.object({
        query: z.string().min(1).max(10_000),
        limit: z.int().min(1).max(100).default(10),
        session_id: session_id().optional()
          .describe("Searches only the entries that this session can see; by default, all entries"),
      }),
    output: () =>
      z.object({
        entries: z.array(
          entrySchema().extend({
            score: z.number().describe("Relative to the best match, which has 1"),
          }),
        ),
      }),
    async handle(context, { query, limit, session_id }) {
      const session = await sessionOf(context, session_id);
      return { entries: await (await context.services.cortex()).recall(query, limit, session) };
    },
  }),
  defineVerb({
    name: "cortex.forget",
    summary: "Deletes a memory entry permanently.",
    access: "write",
    destructive: true,
    input: () => z.object({ entry_id: entry_id() }),
    output: () => z.object({ entry_id: z.string() }),
    async handle({ services }, { entry_id }) {
      await (await services.cortex()).forget(entry_id);
      return { entry_id };
    },
  }),
  defineVerb({
    name: "cortex.audit",
    summary: "Lists automatic memory writes and changes of entries, oldest first.",
    access: "read",
    input: () =>
      z.object({
        limit: z.int().min(1).max(1000).default(100).describe(
          "Number of most recent records to return",
        ),
        cursor: cursor().optional().describe(
          "next_cursor of a page, for the records before that page",
        ),
      }),
    output: () =>
      z.object({ records: z.array(auditRecordSchema()), next_cursor: z.string().optional() }),
    async handle({ services }, options) {
      return await (await services.cortex()).audit(options);
    },
  }),
  defineVerb({
    name: "cortex.publish",
    summary: "Publishes a note to a session; subscribers receive it as lane.note.",
    access: "write",
    input: () =>
      z.object({
        session_id: session_id(),
        note: z.object({
          text: z.string().trim().min(1).max(4_000),
          tags: tags().default([]),
          severity: severity().default("info"),
        }),
      }),
    output: () => z.object({ seq: z.int(), at: timestamp() }),
    async handle({ services, caller }, { session_id, note: { text, tags, severity } }) {
      const session = await services.hub.get(session_id);
      const { seq, at } = await session.emit("lane.note", {
        lane_id: MAIN_LANE,
        text,
        reason_code: PUBLISHED,
        note: { tags, severity, by: caller.via },
      });
      return { seq, at };
    },
  }),
  defineVerb({
    name: "cortex.notes",
    summary: "Lists the notes that were published to a session and are still in its journal.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id(),
        limit: z.int().min(1).max(1000).default(100).describe(
          "Number of most recent notes to return",
        ),
      }),
    output: () => z.object({ notes: z.array(note()) }),
    async handle({ services }, { session_id, limit }) {
      return { notes: await lastNotes(await services.hub.get(session_id), limit) };
    },
  }),
  defineVerb({
    name: "cortex.lobes_list",
    summary: "Lists the lobes: background helpers that work beside the conversation.",
    access: "read",
    input: nothing,
    output: () =>
      z.object({
        lobes: z.array(lobeItemSchema()),
      }),
    async handle({ services }) {
      return { lobes: await (await services.cortex()).lobes() };
    },
  }),
  lobeVerb(
    "cortex.lobe_pause",
    "Pauses a lobe until it is resumed, also across restarts; work in progress is finished.",
  ),
  lobeVerb("cortex.lobe_resume", "Resumes a paused lobe."),
];

async function sessionOf({ services }: Context<MemoryServices>, id: string | undefined) {
  return id === undefined ? undefined : await services.hub.get(id);
}

async function lastNotes(
  { journal }: Session,
  limit: number,
): Promise<z.output<ReturnType<typeof note>>[]> {
  const notes: z.output<ReturnType<typeof note>>[] = [];
  for await (const { seq, at, type, data } of journal.read(journal.trimmed_seq)) {
    if (type !== "lane.note" || data.note === undefined) continue;
    notes.push({ seq, at, text: data.text, ...data.note });
    if (notes.length > limit) notes.shift();
  }
  return notes;
}
