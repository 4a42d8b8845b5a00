import * as z from "zod";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Hub } from "../../session/hub.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

const tier = () => z.enum(["T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8"]);
const status = () => z.enum(["pending", "running", "passed", "failed"]);

export const descentVerbs = [
  defineVerb({
    name: "descent.current_tier",
    summary: "Shows the current tier of each criterion of a session's missions.",
    access: "read",
    input: () => z.object({ session_id: session_id(), ac_id: z.string().optional() }),
    output: () =>
      z.array(
        z.object({
          ac_id: z.string(),
          tier: tier(),
          status: status(),
          evidence_ref: z.string().optional(),
        }),
      ),
    async handle({ services }, { session_id, ac_id }) {
      const { descents } = (await services.hub.get(session_id)).state;
      return descents
        .filter((it) => ac_id === undefined || it.ac_id === ac_id)
        .map(({ ac_id, changes }) => {
          const { tier, status, evidence_ref } = changes.at(-1)!;
          return { ac_id, tier, status, evidence_ref };
        });
    },
  }),
  defineVerb({
    name: "descent.tier_history",
    summary: "Lists the tiers that a criterion has gone through.",
    access: "read",
    input: () => z.object({ session_id: session_id(), ac_id: z.string() }),
    output: () =>
      z.object({
        ac_id: z.string(),
        attempts: z.array(z.object({
          tier: tier(),
          status: status(),
          at: z.string(),
          evidence_ref: z.string().optional(),
          failure_class: z.string().optional(),
        })),
      }),
    async handle({ services }, { session_id, ac_id }) {
      const { descents } = (await services.hub.get(session_id)).state;
      const attempts = descents.find((it) => it.ac_id === ac_id)?.changes ?? [];
      return { ac_id, attempts };
    },
  }),
];
