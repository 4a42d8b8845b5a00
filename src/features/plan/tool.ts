/** The tool with which a model keeps its plan. */
import * as z from "zod";
import { defineTool, type Tool } from "../../agent/tool.ts";
import { planText } from "../../protocol/plan_text.ts";
import type { Session } from "../../session/session.ts";

const STEPS_MAX = 50;
const STEP_MAX = 300;

/** Returns the tool. @param find returns the session with an id */
export function planTool(find: (id: string) => Promise<Session>): Tool {
  return defineTool({
    name: "plan",
    description:
      "Keeps your plan where the person sees it. Each call replaces the whole plan. Use it " +
      "for work of several steps: keep one step doing, and mark a step done as soon as it is. " +
      "No steps clear the plan.",
    access: "read",
    input: z.strictObject({
      steps: z.array(z.strictObject({
        step: z.string().trim().min(1).max(STEP_MAX),
        state: z.enum(["pending", "doing", "done"]),
      })).max(STEPS_MAX),
    }),
    describe: ({ steps }) => `plan of ${steps.length} steps`,
    async run({ steps }, { session_id }) {
      await (await find(session_id)).emit("plan.changed", { steps });
      return { ok: true, output: planText(steps) };
    },
  });
}
