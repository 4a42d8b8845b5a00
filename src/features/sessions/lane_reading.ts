import type * as z from "zod";
import type { Session } from "../../session/session.ts";
import type { Sink } from "../../session/subscription.ts";
import { pushChannel } from "../../verbs/define.ts";
import type { Caller } from "../../verbs/verb.ts";
import type { Hub } from "../../session/hub.ts";
import type { laneDeltaSchema, laneSubscriptionSchema } from "./schemas.ts";

type SubscribeParams = z.output<ReturnType<typeof laneSubscriptionSchema>>;

/** Handles `lanes.subscribe`. @throws {SvcError} validation on a connection without push. */
export async function subscribe(
  { hub }: { readonly hub: Hub },
  { session_id, lane_id, since_seq }: SubscribeParams,
  caller: Caller,
) {
  const session = await hub.get(session_id);
  if (lane_id !== undefined) session.lanes.get(lane_id);
  const push = pushChannel(caller, "lanes.subscribe", "use the local socket or a WebSocket");
  const current_seq = session.published_seq;
  const sub = push.open(({ event: take, ended }) => {
    const deliver: Sink["deliver"] = (event) => {
      if (!event.type.startsWith("lane.")) return;
      const { lane_id: of } = event.data as { lane_id: string };
      if (lane_id === undefined || of === lane_id) return take(event);
    };
    return session.subscribe({ deliver, ended }, { since_seq: since_seq ?? current_seq });
  });
  return { sub, current_seq };
}

/** Returns the last `tail` deltas of a lane. */
export async function lastDeltas(session: Session, lane_id: string, tail: number) {
  const deltas: z.output<ReturnType<typeof laneDeltaSchema>>[] = [];
  for await (const { type, seq, data } of session.journal.read(session.journal.trimmed_seq)) {
    if (type !== "lane.delta" || data.lane_id !== lane_id) continue;
    const { delta_seq, content_block: { text }, redraws, looks } = data;
    deltas.push({ seq, delta_seq, text, redraws, looks: looks && [...looks] });
    if (deltas.length > tail) deltas.shift();
  }
  return deltas;
}
