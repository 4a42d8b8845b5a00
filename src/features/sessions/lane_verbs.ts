import * as z from "zod";
import { PINNED, UNPINNED } from "../../protocol/events.ts";
import { verbsOf } from "../../verbs/define.ts";
import { laneSchema } from "../../protocol/schemas/session.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Hub } from "../../session/hub.ts";
import { lane_id, laneDeltaSchema, laneSubscriptionSchema } from "./schemas.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

export const lanesVerbs = [
  defineVerb({
    name: "lanes.list",
    summary: "Lists the lanes of a session.",
    access: "read",
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({ lanes: z.array(laneSchema()) }),
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
      laneSchema().extend({
        deltas: z.array(laneDeltaSchema()),
      }),
    async handle({ services }, { session_id, lane_id, tail }) {
      const session = await services.hub.get(session_id);
      const lane = session.lanes.get(lane_id);
      const { lastDeltas } = await import("./lane_reading.ts");
      return { ...lane, deltas: tail === 0 ? [] : await lastDeltas(session, lane_id, tail) };
    },
  }),
  defineVerb({
    name: "lanes.subscribe",
    summary: "Streams the lane events of a session, or of one lane, as $/event notifications.",
    access: "read",
    input: laneSubscriptionSchema,
    output: () => z.object({ sub: z.int(), current_seq: z.int() }),
    async handle({ services, caller }, params) {
      return await (await import("./lane_reading.ts")).subscribe(services, params, caller);
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
