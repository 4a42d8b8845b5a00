/**
 * The curator: a lobe that reads a finished turn. It saves facts itself and asks about the rest.
 */
import { SvcError } from "../../protocol/errors.ts";
import type { Model, Usage } from "../../models/model.ts";
import { runLobe } from "../../session/lobe.ts";
import type { Session } from "../../session/session.ts";
import { CURATOR_PROMPT, curatorQuestion, proposalsIn } from "./curator_answer.ts";
import { type Entry, type Proposal, REMEMBER } from "../../protocol/memory.ts";
import { asksFirst, describeProposal, ruleOf } from "./proposals.ts";
import { CURATOR } from "./lobes.ts";

interface CuratorParts {
  model: Model;
  /** In USD. */
  cost(usage: Usage): number;
  newId(prefix: "lane" | "call"): string;
  known(text: string): Promise<readonly Entry[]>;
  /** @throws {SvcError} when the session may not write it */
  write(proposal: Proposal): Promise<void>;
  /** The excerpt was read, and need not be read again. */
  onRead(): void;
}

const ANSWER_MS = 60_000;
/** How long a person has to decide. */
const DECISION_MS = 10 * 60_000;
/** Including thinking. */
const OUTPUT_TOKENS = 4_000;
/** In characters. */
const ANSWER_MAX = 16 * 1024;

/**
 * Reads an excerpt of a conversation in its own lane, and remembers what is worth it. Never throws:
 * the lane's end shows the result.
 */
export async function curate(
  session: Session,
  excerpt: string,
  parts: CuratorParts,
  signal: AbortSignal,
): Promise<void> {
  const lane_id = parts.newId("lane");
  const lobe = {
    lane_id,
    label: CURATOR,
    cause: { reason: "a turn has ended", reason_code: "turn_completed" },
    done: "the turn has been read",
  };
  const work = async (stop: AbortSignal) => {
    const answer = await ask(session, lane_id, excerpt, parts, stop);
    parts.onRead();
    for (const proposal of proposalsIn(answer)) {
      await consider(session, lane_id, proposal, parts, stop);
    }
  };
  await runLobe(session.lanes, lobe, signal, work).catch(() => {});
}

async function ask(
  session: Session,
  lane_id: string,
  excerpt: string,
  { model, known, cost }: CuratorParts,
  stop: AbortSignal,
): Promise<string> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MS)]);
  const question = curatorQuestion(excerpt, await known(excerpt));
  let answer = "";
  const request = {
    system: CURATOR_PROMPT,
    messages: [{ role: "user" as const, text: question }],
    tools: [],
    max_output_tokens: OUTPUT_TOKENS,
    signal,
  };
  for await (const part of model.stream(request)) {
    if (part.type === "text") answer += part.text;
    if (answer.length > ANSWER_MAX) throw new Error("the model's answer is far too long");
    if (part.type !== "finish") continue;
    const { tokens_in, tokens_out, tokens_cached } = part.usage;
    const spent = { usd_delta: cost(part.usage), tokens_in, tokens_out, tokens_cached };
    await Promise.all([
      session.emit("cost.tick", {
        lane_id,
        ...spent,
        seen_seq: session.published_seq,
        model: model.id,
      }),
      session.emit("lane.cost", { lane_id, ...spent }),
    ]);
  }
  return answer;
}

/** Asks where that is needed, writes the proposal, and reports the result in the lane. */
async function consider(
  session: Session,
  lane_id: string,
  proposal: Proposal,
  { newId, write }: CuratorParts,
  stop: AbortSignal,
): Promise<void> {
  const say = (text: string) => session.emitLaneText(lane_id, `${text}\n`);
  const { category, content } = proposal;
  if (asksFirst(proposal) && session.state.approval !== "auto") {
    const decision = await session.approvals.ask({
      call_id: newId("call"),
      tool: REMEMBER,
      args: proposal,
      reason: describeProposal(proposal),
      rule: ruleOf(proposal),
    }, { lane_id, signal: AbortSignal.any([stop, AbortSignal.timeout(DECISION_MS)]) });
    if (decision === "deny") return say(`not saved, because it was denied: ${content}`);
  }
  try {
    await write(proposal);
    say(`remembered as ${category}: ${content}`);
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    say(error.message);
  }
}
