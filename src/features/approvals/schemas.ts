import * as z from "zod";
import { session_id } from "../../protocol/schemas/session.ts";

export const queuedApprovalSchema = () =>
  z.object({
    approval_id: z.string(),
    session_id: session_id(),
    title: z.string().describe("Title of the session"),
    workdir: z.string(),
    lane_id: z.string(),
    tool: z.string(),
    reason: z.string().describe("What the call would do; `session.get` has the arguments"),
    kind: z.literal("question").optional()
      .describe("Present for a question from the model; answer it with session.answer"),
    requested_at: z.string(),
  });
