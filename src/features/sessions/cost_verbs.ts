import * as z from "zod";
import { realPathOrSame } from "../../os/files.ts";
import type { Bucket } from "../../session/costs.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Hub } from "../../session/hub.ts";
import { turnUsageSchema } from "../../protocol/schemas/session.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

function isTimeZone(name: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch {
    return false;
  }
}

const BUCKETS = ["minute", "hour", "day"] as const satisfies readonly Bucket[];

const since = () => z.iso.datetime({ offset: true }).optional();
const bucket = () =>
  z.enum(BUCKETS).default("hour")
    .describe(
      "Costs in parts of the journal that retention has compacted are known by quarters of an hour",
    );
const time_zone = () =>
  z.string().max(64).refine(isTimeZone, "must be a time zone, such as Asia/Kolkata").optional()
    .describe("The time zone of the days and hours, such as Asia/Kolkata; UTC by default");
const spent = () =>
  turnUsageSchema().extend({
    unpriced: z.literal(true).optional()
      .describe("Some calls have no known price: `usd` leaves them out"),
  });
const buckets = () => z.array(spent().extend({ at: z.string().describe("Start of the bucket") }));
const group = () =>
  spent().extend({
    key: z.string().describe("Session id, model or directory"),
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
      z.object({
        session_id: session_id().optional(),
        since: since(),
        bucket: bucket(),
        time_zone: time_zone(),
      }),
    output: () =>
      z.object({
        buckets: z.array(z.object({ at: z.string(), usd: z.number(), tokens: z.int() })),
      }),
    async handle({ services }, params) {
      const { costHistory } = await import("./cost_reports.ts");
      return await costHistory(services.hub, params);
    },
  }),
  defineVerb({
    name: "cost.breakdown",
    summary: "Breaks the cost down by session, model or directory, most expensive first.",
    access: "read",
    input: () =>
      z.object({
        by: z.enum(["session", "model", "workdir"]),
        model: z.string().optional().describe("Counts this model only"),
        workdir: z.string().optional().describe("Counts sessions in this directory only"),
        since: since(),
        bucket: bucket(),
        time_zone: time_zone(),
        limit: z.int().min(1).max(1000).default(20).describe("Number of groups to list separately"),
      }),
    output: () =>
      z.object({
        total: spent(),
        groups: z.array(group()),
        other: spent().optional().describe(
          "Sum of the groups beyond the limit, and of deleted temporary sessions",
        ),
      }),
    async handle({ services, signal }, params) {
      const { costBreakdown } = await import("./cost_reports.ts");
      const workdir = params.workdir && await realPathOrSame(params.workdir);
      return await costBreakdown(services.hub, { ...params, workdir }, signal);
    },
  }),
];
