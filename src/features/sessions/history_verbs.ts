import * as z from "zod";
import type { SessionEvent } from "../../protocol/events.ts";
import { verbsOf } from "../../verbs/define.ts";
import type { Hub } from "../../session/hub.ts";
import { historySchema, journalSchema } from "./schemas.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

export const historyVerbs = [
  defineVerb({
    name: "session.history",
    summary: "Returns the recorded events of a session, page by page.",
    access: "read",
    large: true,
    input: historySchema,
    output: () =>
      z.object({
        events: z.array(z.custom<SessionEvent>()),
        last_seq: z.int().describe("since_seq for the next page"),
        more: z.boolean(),
      }),
    async handle({ services }, params) {
      const { historyPage } = await import("./history_pages.ts");
      return await historyPage(await services.hub.get(params.session_id), params);
    },
  }),
  defineVerb({
    name: "session.journal",
    summary: "Returns records of a session's journal, as they are written there.",
    access: "read",
    large: true,
    input: journalSchema,
    output: () =>
      z.object({
        lines: z.array(z.string()),
        last_seq: z.int().describe("since_seq for the next page"),
        more: z.boolean(),
      }),
    async handle({ services, signal }, params) {
      const { journalPage } = await import("./history_pages.ts");
      return await journalPage(await services.hub.get(params.session_id), params, signal);
    },
  }),
];
