import * as z from "zod";
import type { EventData } from "../session/events.ts";
import type { Session } from "../session/session.ts";
import { defineVerb } from "./define.ts";
import { session_id } from "./session.ts";

const tier = z.enum(["T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8"]);
const status = z.enum(["pending", "running", "passed", "failed"]);

type Change = EventData["descent.tier_changed"] & { at: string };

export const descentVerbs = [
  defineVerb({
    name: "descent.current_tier",
    summary: "Tells at which tier the criteria of a session's missions are.",
    access: "read",
    input: z.object({ session_id, ac_id: z.string().optional() }),
    output: () =>
      z.array(
        z.object({ ac_id: z.string(), tier, status, evidence_ref: z.string().optional() }),
      ),
    async handle({ services }, { session_id, ac_id }) {
      const current = new Map<string, Change>();
      for await (const change of changes(await services.hub.get(session_id))) {
        if (ac_id === undefined || change.ac_id === ac_id) current.set(change.ac_id, change);
      }
      return [...current.values()].map(({ ac_id, tier, status, evidence_ref }) => {
        return { ac_id, tier, status, evidence_ref };
      });
    },
  }),
  defineVerb({
    name: "descent.tier_history",
    summary: "Tells which tiers a criterion went through.",
    access: "read",
    input: z.object({ session_id, ac_id: z.string() }),
    output: () =>
      z.object({
        ac_id: z.string(),
        attempts: z.array(z.object({
          tier,
          status,
          at: z.string(),
          evidence_ref: z.string().optional(),
          failure_class: z.string().optional(),
        })),
      }),
    async handle({ services }, { session_id, ac_id }) {
      const attempts = [];
      for await (const { ac_id: of, ...attempt } of changes(await services.hub.get(session_id))) {
        if (of === ac_id) attempts.push(attempt);
      }
      return { ac_id, attempts };
    },
  }),
];

async function* changes({ journal }: Session): AsyncGenerator<Change> {
  for await (const { type, at, data } of journal.read(journal.trimmed_seq)) {
    if (type === "descent.tier_changed") yield { ...data, at };
  }
}
