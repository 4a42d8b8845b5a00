import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Hub } from "../../session/hub.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

const hash = () => z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits");

export const ledgerVerbs = [
  defineVerb({
    name: "ledger.get_node",
    summary: "Shows a journal record by its hash.",
    access: "read",
    input: () => z.object({ hash: hash() }),
    output: () =>
      z.object({
        hash: hash(),
        type: z.string(),
        payload: z.unknown(),
        edges: z.array(z.object({ to: hash(), kind: z.enum(["prev", "cause"]) })),
      }),
    async handle({ services }, { hash }) {
      const { ledger } = await import("../../session/ledger.ts");
      for (const session of await services.hub.some(undefined)) {
        for await (const node of ledger(session.journal)) {
          if (node.hash !== hash) continue;
          const { seq, at, type, data } = node.event;
          return {
            hash,
            type,
            payload: { session_id: session.id, seq, at, data },
            edges: node.edges,
          };
        }
      }
      throw new SvcError("not_found", `no journal has a record with the hash ${hash}`);
    },
  }),
  defineVerb({
    name: "ledger.list_events",
    summary: "Lists the records of one journal, or of all, with their hashes.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id().optional(),
        since: z.iso.datetime({ offset: true }).optional(),
        limit: z.int().min(1).max(1000).default(100),
        cursor: z.string().optional().describe("next_cursor of the previous page"),
      }),
    output: () =>
      z.object({
        events: z.array(z.object({ hash: hash(), type: z.string(), at: z.string() })),
        next_cursor: z.string().optional(),
      }),
    async handle({ services }, { session_id, since, limit, cursor }) {
      const { ledger } = await import("../../session/ledger.ts");
      const sessions = await services.hub.some(session_id);
      const from = since === undefined ? "" : new Date(since).toISOString();
      const start = parseCursor(cursor, sessions);
      const events: { hash: string; type: string; at: string }[] = [];
      for (const session of sessions.slice(start.at)) {
        const after_seq = session === sessions[start.at] ? start.seq : 0;
        for await (const { hash, event } of ledger(session.journal)) {
          if (event.seq <= after_seq || event.at < from) continue;
          if (events.length === limit) {
            return { events, next_cursor: `${session.id}:${event.seq - 1}` };
          }
          events.push({ hash, type: event.type, at: event.at });
        }
      }
      return { events };
    },
  }),
  defineVerb({
    name: "ledger.verify",
    summary:
      "Recomputes the hash chain of a session's journal and compares it with the stored anchor.",
    access: "read",
    input: () => z.object({ session_id: session_id() }),
    output: () =>
      z.object({
        ok: z.boolean(),
        records: z.int(),
        head: hash(),
        anchored_seq: z.int(),
        problem: z.string().optional(),
      }),
    async handle({ services }, { session_id }) {
      const { hub } = services;
      const session = await hub.get(session_id);
      const { readAnchor, verifyLedger } = await import("../../session/ledger.ts");
      const anchor = await readAnchor(hub.anchorPath(session_id));
      const result = await verifyLedger(session.journal, anchor);
      return { ok: result.problem === undefined, ...result };
    },
  }),
];

/** Position where a listing continues: a cursor is `<session_id>:<last seq>`. */
function parseCursor(cursor: string | undefined, sessions: readonly Session[]) {
  if (cursor === undefined) return { at: 0, seq: 0 };
  const [id, seq] = cursor.split(":");
  const at = sessions.findIndex((session) => session.id === id);
  if (at < 0 || !/^\d+$/.test(seq ?? "")) {
    throw new SvcError("validation", `cursor ${JSON.stringify(cursor)} is not valid`, {
      hint: "pass next_cursor of an earlier page unchanged",
    });
  }
  return { at, seq: Number(seq) };
}
