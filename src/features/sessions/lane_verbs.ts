import * as z from "zod";
import { PINNED, UNPINNED } from "../../protocol/events.ts";
import type { Session } from "../../session/session.ts";
import type { Sink } from "../../session/subscription.ts";
import { pushChannel, verbsOf } from "../../verbs/define.ts";
import { lane } from "./verbs.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Hub } from "../../session/hub.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

const lane_id = () => z.string().min(1);

export const lanesVerbs = [
  defineVerb({
    name: "lanes.list",
    summary: "Lists the lanes of a session.",
    access: "read",
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({ lanes: z.array(lane()) }),
    async handle({ services }, { session_id }) {
      return { lanes: (await services.hub.get(session_id)).state.lanes };
    },
  }),
  defineVerb({
    name: "lanes.get",
    summary: "Shows a lane and its latest output.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id(),
        lane_id: lane_id(),
        tail: z.int().min(0).max(1000).default(20).describe(
          "Number of most recent deltas to return",
        ),
      }),
    output: () =>
      lane().extend({
        deltas: z.array(z.object({ seq: z.int(), delta_seq: z.int(), text: z.string() })),
      }),
    async handle({ services }, { session_id, lane_id, tail }) {
      const session = await services.hub.get(session_id);
      const lane = session.lanes.get(lane_id);
      return { ...lane, deltas: tail === 0 ? [] : await lastDeltas(session, lane_id, tail) };
    },
  }),
  defineVerb({
    name: "lanes.subscribe",
    summary: "Streams the lane events of a session, or of one lane, as $/event notifications.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id(),
        lane_id: lane_id().optional(),
        since_seq: z.int().min(0).optional(),
      }),
    output: () => z.object({ sub: z.int(), current_seq: z.int() }),
    async handle({ services, caller }, { session_id, lane_id, since_seq }) {
      const session = await services.hub.get(session_id);
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
    },
  }),
  defineVerb({
    name: "lanes.kill",
    summary: "Stops a lane and, by default, the lanes below it.",
    access: "write",
    destructive: true,
    idempotent: true,
    input: () =>
      z.object({
        session_id: session_id(),
        lane_id: lane_id(),
        cascade: z.boolean().default(true),
        reason: z.string().min(1).max(500).default("killed"),
      }),
    output: () => z.object({ killed: z.array(z.string()) }),
    async handle({ services, caller }, { session_id, lane_id, cascade, reason }) {
      const session = await services.hub.get(session_id);
      return { killed: await session.lanes.kill(lane_id, { cascade, reason, actor: caller.via }) };
    },
  }),
  defineVerb({
    name: "lanes.pin",
    summary: "Pins or unpins a lane; a pinned lane stays listed after it has ended.",
    access: "write",
    idempotent: true,
    input: () => z.object({ session_id: session_id(), lane_id: lane_id(), pinned: z.boolean() }),
    output: () => z.object({ lane_id: z.string(), pinned: z.boolean() }),
    async handle({ services, caller }, { session_id, lane_id, pinned }) {
      const session = await services.hub.get(session_id);
      if (session.lanes.get(lane_id).pinned !== pinned) {
        await session.emit("lane.note", {
          lane_id,
          text: `${pinned ? "pinned" : "unpinned"} over ${caller.via}`,
          reason_code: pinned ? PINNED : UNPINNED,
        });
      }
      return { lane_id, pinned };
    },
  }),
];

async function lastDeltas(session: Session, lane_id: string, tail: number) {
  const deltas: { seq: number; delta_seq: number; text: string }[] = [];
  for await (const { type, seq, data } of session.journal.read(session.journal.trimmed_seq)) {
    if (type !== "lane.delta" || data.lane_id !== lane_id) continue;
    deltas.push({ seq, delta_seq: data.delta_seq, text: data.content_block.text });
    if (deltas.length > tail) deltas.shift();
  }
  return deltas;
}
