/** Starts a session with a copy of another one's conversation. */
import { shownTitle } from "../../session/titles.ts";
import type * as z from "zod";
import { basename } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import type { Copy } from "../../session/copy.ts";
import type { Hub } from "../../session/hub.ts";
import { chain } from "../../session/ledger.ts";
import type { Session } from "../../session/session.ts";
import type { SessionState } from "../../session/session_state.ts";
import { applyToState, emptyState } from "../../session/state.ts";
import { Transcript } from "../../session/transcript.ts";
import { isTakenBack } from "../../session/undo_state.ts";
import { targetOf } from "../../session/undo_history.ts";
import type { forkedSchema } from "./schemas.ts";

interface ForkOptions {
  /** Copy only what was said before this message. */
  message_id?: string;
  title?: string;
  /**
   * Creates a directory with the files of before an event, or of now, and the session in it;
   * default: the same directory.
   */
  worktree?(
    before_seq: number | undefined,
    create: (workdir: string) => Promise<Session>,
  ): Promise<Session>;
}

type Forked = z.output<ReturnType<typeof forkedSchema>>;

/**
 * Forks a session.
 * @throws {SvcError} not_found for an unknown message; conflict when a running turn would be copied
 * in part; permission_denied for an untrusted session
 */
export async function forkSession(
  hub: Hub,
  session: Session,
  { message_id, title, worktree }: ForkOptions,
): Promise<Forked> {
  if (session.state.trust !== "trusted") {
    throw new SvcError("permission_denied", `session ${session.id} works for others`);
  }
  const target = message_id === undefined
    ? undefined
    : await targetOf(session, { message_id, conversation: true, files: false });
  const { known, transcript, head, seq } = await copied(session, target?.seq);
  const { workdir, model, approval, effort, budget_usd, added_dirs, network } = session.state;
  const { attachmentsIn } = await import("../../session/attachments.ts");
  const attachments = await session.attachments();
  const create = async (own?: string) => {
    const copy: Copy = {
      seq,
      chain: head,
      transcript: transcript.toCheckpoint(),
      known: {
        messages_count: known.messages_count,
        plan: known.plan,
        // In another directory, the model is told again where it works.
        facts: own === undefined ? known.facts : {},
        rules: own === undefined ? known.rules : { files: [], skipped: [] },
        context: known.context,
      },
      attachments: attachmentsIn(transcript),
      read: (attachment) => attachments.read(attachment),
      forked: { from_session_id: session.id, from_seq: seq, message_id },
    };
    return await hub.create({
      workdir: own ?? workdir,
      journal_root: own === undefined ? undefined : workdir,
      model,
      title: title ?? `${shownTitle(session.state) || basename(workdir)} (fork)`,
      approval,
      effort,
      budget_usd,
      added_dirs,
      network,
      copy,
    });
  };
  const made = await (worktree === undefined ? create() : worktree(target?.seq, create));
  return { session_id: made.id, workdir: made.state.workdir, title: made.state.title };
}

async function copied(
  session: Session,
  before: number | undefined,
): Promise<{ known: SessionState; transcript: Transcript; head: string; seq: number }> {
  const known = emptyState(session.id);
  const transcript = new Transcript();
  const { published_seq } = session;
  let head = "";
  let seq = 0;
  for await (const { event, hash } of chain(session.journal)) {
    if (event.seq > published_seq || before !== undefined && event.seq >= before) break;
    applyToState(known, event);
    if (!isTakenBack(session.state.undo, event.seq)) transcript.apply(event);
    head = hash;
    seq = event.seq;
  }
  if (known.turn !== undefined) {
    throw new SvcError("conflict", `session ${session.id} is at work`, {
      hint: "wait for the end of the turn, or fork from a message before it",
    });
  }
  return { known, transcript, head, seq };
}
