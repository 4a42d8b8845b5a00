/** Approvals with a kept rule. */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { TRUST_DIRECTORY } from "../../protocol/trust.ts";
import type { Approvals } from "../../session/approvals.ts";
import { questionText, shownDigest } from "../../session/question.ts";
import type { SessionServices } from "./verbs.ts";
import type { decidedSchema } from "./schemas.ts";

type Decided = z.output<ReturnType<typeof decidedSchema>>;

/**
 * Makes sure that a client behind which a model may be does not allow something by itself.
 *
 * @throws {SvcError} permission_denied for what only a person decides; validation, with the question
 * to show first, unless `shown` is given; as `Approvals.pending`
 */
export async function requirePerson(
  approvals: Approvals,
  approval_id: string,
  shown: string | undefined,
): Promise<void> {
  if (approvals.find(approval_id)?.tool === TRUST_DIRECTORY) {
    throw new SvcError("permission_denied", "only a person trusts a directory", {
      hint: "the person can answer in `svc chat` or with `svc ctl approvals answer`",
    });
  }
  if (shown !== undefined) return;
  const asked = await approvals.pending(approval_id);
  const digest = await shownDigest(asked);
  throw new SvcError("validation", `show this to the person first: ${questionText(asked)}`, {
    hint: `if they allow it, call again with shown ${digest}`,
    details: { approval_id, shown: digest },
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
