/** `svc ctl approvals`. */
import { SvcError } from "../protocol/errors.ts";
import type { QueuedApproval } from "../features/approvals/queued.ts";
import type { RpcClient } from "../client/rpc.ts";
import { shownDigest } from "../session/question.ts";
import { painter } from "./chat_render.ts";
import { print, withDaemon } from "./daemon_call.ts";
import {
  type PrintedQuestion,
  questionPrinted,
  questionPrompt,
  typedDecision,
} from "./question_print.ts";
import type { Input } from "./spec.ts";
import { table } from "./table.ts";
import type * as spec from "./table/ctl.ts";

/** Runs `svc ctl approvals list`. */
export async function listApprovals(
  { flags }: Input<typeof spec.APPROVALS_LIST>,
): Promise<number> {
  const found = await withDaemon((rpc) => rpc.call("approvals.list"));
  if (flags.json) return print(found);
  if (found.approvals.length === 0) {
    console.log("no question waits");
    return 0;
  }
  const rows = found.approvals.map((
    it: QueuedApproval,
  ) => [it.approval_id, it.requested_at, it.title, it.reason]);
  console.log(table([["QUESTION", "SINCE", "SESSION", "WHAT WOULD BE DONE"], ...rows]));
  if (found.more) console.log("and more");
  return 0;
}

const DECISIONS = { allow: "allow", always: "allow_always", deny: "deny" } as const;

/** Runs `svc ctl approvals answer`. */
export async function answerApproval(
  { flags, args: { approval_id, decision } }: Input<typeof spec.APPROVALS_ANSWER>,
): Promise<number> {
  return await withDaemon(async (rpc) => {
    const { session_id, workdir, asked } = await pending(rpc, approval_id);
    const shown = await shownDigest(asked);
    if (!flags.json) {
      const paint = painter(Deno.stdout);
      for (const line of questionPrinted(asked, workdir, paint)) console.log(line);
    }
    if (decision === undefined) {
      const { verb, params, said } = askPerson(asked);
      const done = await rpc.ask(verb, { session_id, approval_id, ...params, shown });
      if (flags.json) return print(done);
      console.log(`→ ${said}`);
      return 0;
    }
    if (decision !== "deny") requireRead(shown, flags.shown);
    const done = await rpc.call("session.approve", {
      session_id,
      approval_id,
      decision: DECISIONS[decision],
      shown,
      message: flags.message,
    });
    if (flags.json) return print(done);
    console.log(`→ ${decision}`);
    return 0;
  });
}

/** Finds a pending question. @throws {SvcError} not_found */
async function pending(rpc: RpcClient, approval_id: string) {
  const { approvals } = await rpc.call("approvals.list", { limit: 1_000 });
  const listed = approvals.find((it) => it.approval_id === approval_id);
  const { pending_approvals = [] } = listed === undefined
    ? {}
    : await rpc.call("session.get", { session_id: listed.session_id });
  const asked = pending_approvals.find((it) => it.approval_id === approval_id);
  if (listed === undefined || asked === undefined) {
    throw new SvcError("not_found", `no question ${approval_id} waits`, {
      hint: "`svc ctl approvals list` shows those that do; somebody may have answered it",
    });
  }
  return { session_id: listed.session_id, workdir: listed.workdir, asked };
}

/**
 * Asks the person at the terminal, as a chat does, until the line is an answer.
 *
 * @throws {SvcError} validation without a terminal or an answer
 */
function askPerson(asked: PrintedQuestion) {
  while (Deno.stdin.isTerminal()) {
    const line = prompt(questionPrompt(asked));
    if (line === null) break;
    const decided = typedDecision(asked, line.trim());
    if (decided !== undefined) return { ...decided, said: line.trim() };
  }
  throw new SvcError("validation", "nothing was answered", {
    hint: "give the decision after the question: allow, always or deny",
  });
}

/**
 * Requires that the person has read what they allow.
 *
 * @param shown the digest of the current question
 * @param read the digest that they give
 * @throws {SvcError} validation if they read nothing, conflict if they read another question
 */
function requireRead(shown: string, read: string | undefined): void {
  if (read === shown) return;
  if (read !== undefined) {
    throw new SvcError("conflict", "the question is not the one that --shown names", {
      hint: `read it above; to allow it, add --shown ${shown}`,
    });
  }
  if (Deno.stdin.isTerminal() && confirm("Allow this?")) return;
  throw new SvcError("validation", "nothing was allowed", {
    hint: `to allow what stands above without a question, add --shown ${shown}`,
  });
}
