/** What code tasks may do without a question. */
import type { Approval } from "../../protocol/events.ts";
import { type Caller, mayBeModel } from "../../verbs/define.ts";
import type { TaskRequest } from "./task.ts";

/**
 * Returns a request as it is carried out. A person who asks for a code task approves its actions.
 * For a model, over MCP, the configuration decides, and the request can only be stricter.
 */
export function consented(
  request: TaskRequest,
  caller: Caller,
  configured: Approval,
): TaskRequest {
  if (!mayBeModel(caller) || request.task_type !== "code") return request;
  const approval = configured === "auto" && request.extra?.approval !== "ask" ? "auto" : "ask";
  return { ...request, extra: { ...request.extra, approval } };
}
