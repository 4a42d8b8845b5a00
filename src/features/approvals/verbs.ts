import * as z from "zod";
import type { Hub } from "../../session/hub.ts";
import { verbsOf } from "../../verbs/define.ts";
import { queuedApprovalSchema } from "./schemas.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

export const approvalVerbs = [
  defineVerb({
    name: "approvals.list",
    summary: "Lists the questions that wait in all sessions, the oldest first.",
    access: "read",
    rest: { method: "GET", path: "/v1/approvals", status: 200 },
    input: () => z.object({ limit: z.int().min(1).max(1_000).default(200) }),
    output: () =>
      z.object({
        approvals: z.array(queuedApprovalSchema()),
        more: z.boolean(),
      }),
    async handle({ services }, { limit }) {
      const { queuedApprovals } = await import("./queued.ts");
      return await queuedApprovals(services.hub, limit);
    },
  }),
];
