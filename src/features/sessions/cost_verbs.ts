import * as z from "zod";
import {
  addSpent,
  BUCKETS,
  CostBuckets,
  costsOf,
  nothingSpent,
  type Spent,
} from "../../session/costs.ts";
import type { Session } from "../../session/session.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Hub } from "../../session/hub.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

const since = () => z.iso.datetime({ offset: true }).optional();
const bucket = () =>
  z.enum(BUCKETS).default("hour")
    .describe(
      "Costs in parts of the journal that retention has compacted are known by the hour only",
    );

const spent = () =>
  z.object({
    usd: z.number(),
    tokens_in: z.int(),
    tokens_out: z.int(),
    tokens_cached: z.int().describe("The part of tokens_in that the provider read from its cache"),
  });
const buckets = () => z.array(spent().extend({ at: z.string().describe("Start of the bucket") }));
const group = () =>
  spent().extend({
    key: z.string().describe("Session id or model"),
    title: z.string().optional().describe("Title of the session"),
    buckets: buckets(),
  });

export const costVerbs = [
  defineVerb({
    name: "cost.get_current",
    summary: "Shows the cost so far, of one session or of all.",
    access: "read",
    input: () => z.object({ session_id: session_id().optional() }),
    output: () =>
      z.object({
        usd: z.number(),
        tokens_in: z.int(),
        tokens_out: z.int(),
        as_of: z.iso.datetime(),
      }),
    async handle({ services }, { session_id }) {
      const as_of = new Date().toISOString();
      if (session_id === undefined) return { ...await services.hub.spent(), as_of };
      const { cost_usd: usd, tokens_in, tokens_out } = (await services.hub.get(session_id)).state;
      return { usd, tokens_in, tokens_out, as_of };
    },
  }),
  defineVerb({
    name: "cost.get_history",
    summary: "Shows the cost over time, of one session or of all.",
    access: "read",
    input: () =>
      z.object({ session_id: session_id().optional(), since: since(), bucket: bucket() }),
    output: () =>
      z.object({
        buckets: z.array(z.object({ at: z.string(), usd: z.number(), tokens: z.int() })),
      }),
    async handle({ services }, { session_id, since, bucket }) {
      const sums = new CostBuckets(bucket, since);
      for (const session of await services.hub.some(session_id)) {
        for await (const cost of costsOf(session, bucket)) sums.add(cost);
      }
      return {
        buckets: sums.buckets.map(({ at, usd, tokens_in, tokens_out }) => {
          return { at, usd, tokens: tokens_in + tokens_out };
        }),
      };
    },
  }),
  defineVerb({
    name: "cost.breakdown",
    summary: "Breaks the cost down by session or by model, most expensive first.",
    access: "read",
    input: () =>
      z.object({
        by: z.enum(["session", "model"]),
        since: since(),
        bucket: bucket(),
        limit: z.int().min(1).max(1000).default(20).describe("Number of groups to list separately"),
      }),
    output: () =>
      z.object({
        total: spent(),
        groups: z.array(group()),
        other: spent().optional().describe("Sum of the groups beyond the limit"),
      }),
    async handle({ services, signal }, { by, since, bucket, limit }) {
      const sums = new Map<string, { title?: string; sums: CostBuckets }>();
      for (const session of await services.hub.some(undefined)) {
        signal.throwIfAborted();
        const { key, title } = groupOf(session, by);
        const group = sums.get(key) ?? { title, sums: new CostBuckets(bucket, since) };
        const newest = session.state.cost_hours.at(-1);
        // Its journal need not be read.
        if (newest === undefined || !group.sums.covers(newest)) continue;
        for await (const cost of costsOf(session, bucket)) group.sums.add(cost);
        if (group.sums.buckets.length > 0) sums.set(key, group);
      }
      const groups = [...sums]
        .map(([key, { title, sums }]) => ({ key, title, ...sums.total, buckets: sums.buckets }))
        .sort(dearestFirst);
      const rest = groups.slice(limit);
      return {
        total: sumOf(groups),
        groups: groups.slice(0, limit),
        ...(rest.length > 0 ? { other: sumOf(rest) } : {}),
      };
    },
  }),
];

function groupOf({ id, state }: Session, by: "session" | "model") {
  return by === "session" ? { key: id, title: state.title } : { key: state.model };
}

function dearestFirst(a: Spent, b: Spent): number {
  return b.usd - a.usd || (b.tokens_in + b.tokens_out) - (a.tokens_in + a.tokens_out);
}

function sumOf(costs: readonly Spent[]): Spent {
  const sum = nothingSpent();
  for (const cost of costs) addSpent(sum, cost);
  return sum;
}
