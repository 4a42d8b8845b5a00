/** Approvals with a kept rule. */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { Approvals } from "../../session/approvals.ts";
import { questionText, shownDigest } from "../../session/question.ts";
import type { SessionServices } from "./verbs.ts";
import type { decidedSchema } from "./schemas.ts";

type Decided = z.output<ReturnType<typeof decidedSchema>>;

/** Returns the error with the question to show first. @throws {SvcError} as `Approvals.pending`. */
export async function notShown(approvals: Approvals, approval_id: string): Promise<SvcError> {
  const asked = await approvals.pending(approval_id);
  const shown = await shownDigest(asked);
  return new SvcError("validation", `show this to the person first: ${questionText(asked)}`, {
    hint: `if they allow it, call again with shown ${shown}`,
    details: { approval_id, shown },
  });
}

/**
 * Keeps the chosen rule and allows the call; forgets the rule if someone else decided meanwhile.
 * @throws {SvcError} validation unless the decision is `allow_always` and the rule is a choice
 */
export async function approveAlways(
  { hub, permissions }: Pick<SessionServices, "hub" | "permissions">,
  { session_id, approval_id, decision, shown, always }: Decided,
  by: string,
): Promise<void> {
  if (decision !== "allow_always") {
    const message = "is only for the decision allow_always";
    throw new SvcError("validation", `always: ${message}`, {
      details: { issues: [{ path: ["always"], message }] },
    });
  }
  const session = await hub.get(session_id);
  const asked = await session.approvals.pending(approval_id, shown);
  const rules = await permissions();
  const { rule_id, existed } = await rules.keep(session, asked, always!, by);
  try {
    await session.approvals.decide(approval_id, decision, by, { shown, always });
  } catch (error) {
    if (!existed) await rules.remove(rule_id);
    throw error;
  }
}
