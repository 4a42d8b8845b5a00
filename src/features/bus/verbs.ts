import * as z from "zod";
import { busEventSchema } from "../../protocol/schemas/bus.ts";
import type { Bus, BusRecord } from "./bus.ts";
import { DAEMON_SCOPE } from "./record.ts";
import { pushChannel, type Pushed, verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";

interface BusServices {
  /** Loaded on first use. */
  bus(): Promise<Bus>;
}

const defineVerb = verbsOf<BusServices>();

const scope = () => session_id().optional().describe("Limits the events to this session");

/** Per answer of bus.replay: events, and characters of their data. */
const REPLAY_MAX = 1_000;
const REPLAY_CHARS_MAX = 4_000_000;

export const busVerbs = [
  defineVerb({
    name: "bus.tail",
    summary: "Streams the events of all sessions as $/event notifications, replayed events first.",
    access: "read",
    input: () =>
      z.object({
        session_id: scope(),
        since_seq: z.int().min(0).optional()
          .describe("Last bus_seq to return the client has; by default, only new events are sent"),
        types: z.array(z.string().min(1)).min(1).max(50).optional()
          .describe(
            "Limits the events to these types; a type that ends with a dot matches every type below it",
          ),
      }),
    output: () => z.object({ sub: z.int(), current_seq: z.int() }),
    async handle({ services, caller }, { session_id, since_seq, types }) {
      const push = pushChannel(
        caller,
        "bus.tail",
        "use the local socket or a WebSocket, or poll bus.replay",
      );
      const bus = await services.bus();
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
    summary: "Returns the events of all sessions between two positions on the bus.",
    access: "read",
    large: true,
    input: () =>
      z.object({
        from_seq: z.int().min(1).describe("First bus_seq to return"),
        to_seq: z.int().min(1).describe("Last bus_seq to return"),
        session_id: scope(),
      }),
    output: () =>
      z.object({
        events: z.array(busEventSchema()),
        next_seq: z.int().optional().describe("Position of the next event, if there are more"),
      }),
    async handle({ services }, { from_seq, to_seq, session_id }) {
      const events = [];
      let chars = 0;
      const bus = await services.bus();
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
