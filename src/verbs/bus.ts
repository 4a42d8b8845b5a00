import * as z from "zod";
import type { BusRecord } from "../bus/bus.ts";
import { DAEMON_SCOPE } from "../bus/bus.ts";
import { defineVerb, pushChannel, type Pushed } from "./define.ts";
import { session_id } from "./session.ts";

const scope = () => session_id().optional().describe("Only what happens in this session");

/** Events that one answer of bus.replay has at most, and the characters of their data. */
const REPLAY_MAX = 1_000;
const REPLAY_CHARS_MAX = 4_000_000;

export const busVerbs = [
  defineVerb({
    name: "bus.tail",
    summary: "Pushes what happens in all sessions as $/event notifications, replay before live.",
    access: "read",
    input: () =>
      z.object({
        session_id: scope(),
        since_seq: z.int().min(0).optional()
          .describe("The last bus_seq the client has; without it only what comes from now on"),
        types: z.array(z.string().min(1)).min(1).max(50).optional()
          .describe(
            "Only events of these types; one with a dot at its end stands for all below it",
          ),
      }),
    output: () => z.object({ sub: z.int(), current_seq: z.int() }),
    async handle({ services: { bus }, caller }, { session_id, since_seq, types }) {
      const push = pushChannel(
        caller,
        "bus.tail",
        "use the local socket or a WebSocket, or ask bus.replay now and then",
      );
      const current_seq = await bus.lastSeq();
      const sub = push.open(({ event, ended }) => {
        const deliver = (record: BusRecord) => {
          if (session_id !== undefined && record.scope !== session_id) return;
          if (types === undefined || types.some((type) => isOfType(record, type))) {
            return event(pushed(record));
          }
        };
        return bus.subscribe({ deliver, ended }, since_seq ?? current_seq);
      });
      return { sub, current_seq };
    },
  }),
  defineVerb({
    name: "bus.replay",
    summary: "Gives what happened in all sessions between two places of the bus.",
    access: "read",
    input: () =>
      z.object({
        from_seq: z.int().min(1).describe("The first bus_seq"),
        to_seq: z.int().min(1).describe("The last bus_seq"),
        session_id: scope(),
      }),
    output: () =>
      z.object({
        events: z.array(z.object({
          bus_seq: z.int(),
          session_id: z.string().optional(),
          seq: z.int().optional(),
          at: z.string(),
          type: z.string(),
          data: z.unknown(),
        })),
        next_seq: z.int().optional().describe("Where to go on, when there is more"),
      }),
    async handle({ services: { bus } }, { from_seq, to_seq, session_id }) {
      const events = [];
      let chars = 0;
      for await (const record of bus.replay(from_seq - 1)) {
        if (record.seq > to_seq) break;
        if (session_id !== undefined && record.scope !== session_id) continue;
        if (events.length === REPLAY_MAX || chars > REPLAY_CHARS_MAX) {
          return { events, next_seq: record.seq };
        }
        const { data_json, ...rest } = pushed(record);
        events.push({ ...rest, data: JSON.parse(data_json) });
        chars += data_json.length;
      }
      return { events };
    },
  }),
];

function isOfType(record: BusRecord, type: string): boolean {
  return type.endsWith(".") ? record.type.startsWith(type) : record.type === type;
}

function pushed(
  { seq: bus_seq, scope, session_seq, at, type, data_json }: BusRecord,
): Pushed & { bus_seq: number } {
  if (scope === DAEMON_SCOPE) return { bus_seq, at, type, data_json };
  return { bus_seq, session_id: scope, seq: session_seq, at, type, data_json };
}
