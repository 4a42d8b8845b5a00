import type * as z from "zod";
import { spentBudget } from "../../agent/budget.ts";
import { SvcError } from "../../protocol/errors.ts";
import { Prepared, pushChannel } from "../../verbs/define.ts";
import type { Caller } from "../../verbs/verb.ts";
import type { pageSchema, sessionSubscriptionSchema } from "./schemas.ts";
import type { Message } from "../../models/model.ts";
import type { Transcript } from "../../session/transcript.ts";
import type { Session } from "../../session/session.ts";
import type { SessionServices } from "./verbs.ts";

/** Handles `session.get`. */
export async function details({ hub }: SessionServices, session_id: string) {
  const session = await hub.get(session_id);
  const { tokens_in, tokens_out, tokens_cached, messages_count, ...state } = session.state;
  return {
    ...hub.item(session),
    effort: state.effort ?? ("default" as const),
    added_dirs: state.added_dirs ?? [],
    network: state.network ?? ("default" as const),
    tokens_in,
    tokens_out,
    tokens_cached,
    messages_count,
    context: state.context,
    cut_off: session.cutOff,
    parked_reason: session.parked?.reason,
    queued: session.queued,
    pending_approvals: state.pending_approvals,
    plan: state.plan,
    background: state.background,
    rules: state.rules,
  };
}

/** Handles `session.subscribe`. @throws {SvcError} validation on a connection without push. */
export async function subscribe(
  { hub }: SessionServices,
  { session_id, since_seq, deltas }: z.output<ReturnType<typeof sessionSubscriptionSchema>>,
  caller: Caller,
) {
  const session = await hub.get(session_id);
  const push = pushChannel(
    caller,
    "session.subscribe",
    "use the local socket, a WebSocket, or GET /v1/sessions/{id}/events",
  );
  const current_seq = session.published_seq;
  const sub = push.open(({ event, ended }) =>
    session.subscribe({ deliver: event, ended }, { since_seq: since_seq ?? current_seq, deltas })
  );
  return { sub, current_seq };
}

/** Handles `session.compact`. @throws {SvcError} budget_exceeded. */
export async function compact({ hub, config }: SessionServices, session_id: string) {
  const session = await hub.get(session_id);
  const spent = spentBudget(session.state, config().agent.budget_usd);
  if (spent !== undefined) throw new SvcError("budget_exceeded", spent);
  const done = await session.compact();
  if (done === undefined) return { compacted: false };
  const { tokens_before, tokens_after } = done;
  return { compacted: true, tokens_before, tokens_after };
}

/** Per answer, which has at least one message. */
const CHARS_MAX = 4_000_000;

/** Handles `session.transcript`. */
export async function transcript(
  { hub, asked }: SessionServices,
  { session_id, last = Infinity, skip }: z.output<ReturnType<typeof pageSchema>>,
) {
  const session = await hub.get(session_id);
  const transcript = await session.transcript();
  const { messages, json } = keptForNext(asked, transcript, session.state.last_seq);
  const end = Math.max(messages.length - skip, 0);
  const page: string[] = [];
  let left_out = end;
  for (let chars = 0; left_out > 0 && page.length < last; left_out--) {
    const n = left_out - 1;
    const one = json[n] ??= JSON.stringify(messages[n]);
    chars += one.length;
    if (chars > CHARS_MAX && page.length > 0) break;
    page.push(one);
  }
  const { writing } = transcript;
  const rest = { left_out, writing: skip === 0 ? writing : "", seq: session.published_seq };
  const value = { messages: messages.slice(left_out, end), ...rest };
  const parts = page.reverse().flatMap((one, n) => n === 0 ? one : [",", one]);
  return new Prepared(value, ['{"messages":[', ...parts, `],${JSON.stringify(rest).slice(1)}`]);
}

/** A conversation at a seq, with cached JSON of its messages. */
interface Asked {
  readonly transcript: Transcript;
  readonly seq: number;
  readonly messages: readonly Message[];
  readonly json: (string | undefined)[];
}

/** The last requested conversation. */
export interface LastAsked {
  asked?: Asked;
  timer?: number;
}

/** How long it is kept. */
const NEXT_MS = 2_000;

/**
 * Keeps a conversation for a moment, so that pages or many clients do not read the journal again.
 */
function keptForNext(last: LastAsked, transcript: Transcript, seq: number): Asked {
  if (last.asked?.transcript !== transcript || last.asked.seq !== seq) {
    const messages = transcript.messages();
    last.asked = { transcript, seq, messages, json: new Array(messages.length) };
  }
  clearTimeout(last.timer);
  last.timer = setTimeout(() => last.asked = undefined, NEXT_MS);
  Deno.unrefTimer(last.timer);
  return last.asked;
}

/** Returns the seq before the last `count` messages of the person; 0 for the whole conversation. */
export async function beforeLast(session: Session, count: number): Promise<number> {
  const { items } = await session.transcript();
  const said = items.flatMap((item) => "user" in item ? [item.seq] : []).slice(-count);
  const whole = said.length < count && !items.some((item) => "summary" in item);
  const [first = 1] = said;
  return whole || first <= session.journal.trimmed_seq ? 0 : first - 1;
}
