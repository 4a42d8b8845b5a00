import * as z from "zod";
import { mayBeModel, verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { TuiServices } from "./open.ts";
import { answerSchema, focus, snapshotSchema } from "./schemas.ts";

const defineVerb = verbsOf<TuiServices>();

const size = () => ({
  cols: z.int().min(1).max(1000).optional()
    .describe("Columns of an interface without a terminal; initially 80"),
  rows: z.int().min(1).max(1000).optional().describe(
    "Rows of an interface without a terminal; initially 24",
  ),
});
const position = () => z.object({ focus: focus(), seq: z.int() });
const matches = () =>
  z.object({
    matches: z.array(z.unknown()).describe(
      "The selected values; without jsonpath, the whole model",
    ),
  });

export const tuiVerbs = [
  defineVerb({
    name: "tui.press_key",
    summary: "Presses a key in the session's terminal UI, or pastes text into it.",
    access: "write",
    input: () =>
      z.object({
        session_id: session_id(),
        key: z.string().min(1).optional()
          .describe(
            "A character or a key name such as enter, escape, tab, pageup, ctrl-c or alt-enter",
          ),
        text: z.string().min(1).optional().describe("Text to paste instead of a key"),
        ...size(),
      }).refine(({ key, text }) => (key === undefined) !== (text === undefined), {
        message: "pass either key or text",
      }),
    output: position,
    async handle({ services, caller }, { session_id, key, text, ...size }) {
      const host = await services.tui();
      const by_model = mayBeModel(caller);
      const request = { method: "press_key", key, text, by_model } as const;
      return position().parse(await host.request(session_id, request, size));
    },
  }),
  defineVerb({
    name: "tui.snapshot",
    summary: "Returns the screen of the session's terminal UI, as text and as an outline.",
    access: "read",
    input: () => z.object({ session_id: session_id(), ...size() }),
    output: snapshotSchema,
    async handle({ services }, { session_id, ...size }) {
      const host = await services.tui();
      return snapshotSchema().parse(await host.request(session_id, { method: "snapshot" }, size));
    },
  }),
  defineVerb({
    name: "tui.get_model",
    summary:
      "Returns the model behind the session's terminal UI, or the part that a JSONPath query selects.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id(),
        jsonpath: z.string().min(1).max(1000).optional().describe(
          "A JSONPath query (RFC 9535), such as $.lanes[*].label",
        ),
      }),
    output: matches,
    async handle({ services }, { session_id, jsonpath }) {
      const host = await services.tui();
      return matches().parse(await host.request(session_id, { method: "get_model", jsonpath }));
    },
  }),
  defineVerb({
    name: "tui.focus_lane",
    summary: "Shows a lane in the session's terminal UI.",
    access: "write",
    idempotent: true,
    input: () => z.object({ session_id: session_id(), lane_id: z.string().min(1) }),
    output: position,
    async handle({ services }, { session_id, lane_id }) {
      const host = await services.tui();
      return position().parse(await host.request(session_id, { method: "focus_lane", lane_id }));
    },
  }),
  defineVerb({
    name: "tui.attach",
    summary: "Attaches the calling terminal, so that the tui verbs read and drive it.",
    access: "write",
    internal: true,
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({ sub: z.int() }),
    async handle({ services, caller }, { session_id }) {
      await services.hub.get(session_id);
      return { sub: (await services.tui()).attachCaller(session_id, caller) };
    },
  }),
  defineVerb({
    name: "tui.answer",
    summary: "Answers a request that was sent to an attached terminal.",
    access: "write",
    internal: true,
    input: answerSchema,
    output: () => z.object({}),
    async handle({ services }, answer) {
      (await services.tui()).answer(answer);
      return {};
    },
  }),
];
