import * as z from "zod";
import type { Hub } from "../../session/hub.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

export const questionVerbs = [
  defineVerb({
    name: "session.answer",
    summary: "Answers a question that the model asked the person.",
    access: "write",
    rest: {
      method: "POST",
      path: "/v1/sessions/:session_id/approvals/:approval_id/answer",
      status: 200,
    },
    input: () =>
      z.object({
        session_id: session_id(),
        approval_id: z.string().describe("Id of a pending approval whose kind is question"),
        chosen: z.array(z.string()).default([]).describe("Labels of the chosen options"),
        text: z.string().min(1).max(10_000).optional().describe("Answer in own words"),
        unanswered: z.enum(["declined", "nobody"]).optional()
          .describe("Instead of an answer: the person skips the question, or nobody is there"),
        shown: z.string().optional().describe("As in session.approve"),
      }),
    output: () => z.object({ approval_id: z.string() }),
    async handle({ services, caller }, { session_id, approval_id, shown, ...given }) {
      const { answerQuestion } = await import("../../session/person_answers.ts");
      const { outcomeOf } = await import("./outcome.ts");
      const { approvals } = await services.hub.get(session_id);
      await answerQuestion(approvals, approval_id, outcomeOf(given), caller.via, shown);
      return { approval_id };
    },
  }),
];
