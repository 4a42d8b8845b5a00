import * as z from "zod";
import type { Session } from "../session/session.ts";
import { defineVerb } from "./define.ts";
import { session_id } from "./session.ts";

type Bucket = "minute" | "hour" | "day";

/** Length of the RFC 3339 prefix that names a bucket, and what completes it to a timestamp. */
const CUTS: Record<Bucket, [number, string]> = {
  minute: [16, ":00.000Z"],
  hour: [13, ":00:00.000Z"],
  day: [10, "T00:00:00.000Z"],
};

export const costVerbs = [
  defineVerb({
    name: "cost.get_current",
    summary: "Tells what a session, or all of them, cost so far.",
    access: "read",
    input: z.object({ session_id: session_id.optional() }),
    output: () =>
      z.object({
        usd: z.number(),
        tokens_in: z.int(),
        tokens_out: z.int(),
        as_of: z.iso.datetime(),
      }),
    async handle({ services }, { session_id }) {
      const total = { usd: 0, tokens_in: 0, tokens_out: 0, as_of: new Date().toISOString() };
      for (const { state } of await services.hub.some(session_id)) {
        total.usd += state.cost_usd;
        total.tokens_in += state.tokens_in;
        total.tokens_out += state.tokens_out;
      }
      return total;
    },
  }),
  defineVerb({
    name: "cost.get_history",
    summary: "Tells what a session, or all of them, cost over time.",
    access: "read",
    input: z.object({
      session_id: session_id.optional(),
      since: z.iso.datetime({ offset: true }).optional(),
      bucket: z.enum(["minute", "hour", "day"]).default("hour")
        .describe("What retention has rewritten is known by the hour"),
    }),
    output: () =>
      z.object({
        buckets: z.array(z.object({ at: z.string(), usd: z.number(), tokens: z.int() })),
      }),
    async handle({ services }, { session_id, since, bucket }) {
      const from = since === undefined ? "" : new Date(since).toISOString();
      const [length, rest] = CUTS[bucket];
      const buckets = new Map<string, { at: string; usd: number; tokens: number }>();
      for (const session of await services.hub.some(session_id)) {
        for await (const { at, usd, tokens } of ticks(session, bucket)) {
          const start = `${at.slice(0, length)}${rest}`;
          if (at < from && start < from) continue;
          const sum = buckets.get(start) ?? { at: start, usd: 0, tokens: 0 };
          sum.usd += usd;
          sum.tokens += tokens;
          buckets.set(start, sum);
        }
      }
      return { buckets: [...buckets.values()].sort((a, b) => a.at < b.at ? -1 : 1) };
    },
  }),
];

/** The costs of a session, as finely as they are known. */
async function* ticks(session: Session, bucket: Bucket) {
  if (bucket !== "minute") return yield* session.state.cost_hours;
  const { oldest_at, trimmed_seq } = session.journal;
  for (const hour of session.state.cost_hours) {
    if (
      trimmed_seq > 0 && (oldest_at === undefined || hour.at.slice(0, 13) < oldest_at.slice(0, 13))
    ) {
      yield hour;
    }
  }
  for await (const { type, at, data } of session.journal.read(trimmed_seq)) {
    if (type !== "cost.tick") continue;
    yield { at, usd: data.usd_delta, tokens: data.tokens_in + data.tokens_out };
  }
}
