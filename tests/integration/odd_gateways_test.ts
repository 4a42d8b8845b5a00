/**
 * Gateways that speak Anthropic's, Google's and OpenAI's formats in their own way, as users of other agents
 * reported them: each call runs, once, and the answer is whole. The report stands in the name.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  ANTHROPIC_DIALECT,
  beginOdd,
  type Dialect,
  GOOGLE_DIALECT,
  type Json,
  RESPONSES_DIALECT,
  type Sent,
  sse,
} from "../support/odd_server.ts";
import { MODEL_SKIPPED } from "../../src/protocol/events.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;
const ARGS = { path: "notes.txt" };

interface Odd extends Sent {
  source?: string;
  /** What the conversation shows of the model's text before the call. */
  text?: string;
  /** What svc says about the answer. */
  notes?: RegExp;
}

const start = (usage: Json = { input_tokens: 9 }) => ({
  type: "message_start",
  message: { id: "m", role: "assistant", content: [], model: "m", usage },
});
const tool = (index: Json = 0, more: Json = {}) => ({
  type: "content_block_start",
  index,
  content_block: { type: "tool_use", id: "toolu_1", name: "read_file", input: {}, ...more },
});
const piece = (partial_json: Json, index: Json = 0) => ({
  type: "content_block_delta",
  index,
  delta: { type: "input_json_delta", partial_json },
});
const stop = (index: Json = 0) => ({ type: "content_block_stop", index });
const end = (usage: Json = { output_tokens: 5 }, stop_reason: Json = "tool_use") => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null },
  usage,
});
const STOP = { type: "message_stop" };
const PIECE = piece(JSON.stringify(ARGS));
const says = (text: string) => [
  { type: "content_block_start", index: 0, content_block: { type: "text", text } },
  stop(),
];

const ANTHROPIC: Record<string, Odd> = {
  "no usage at the end": {
    source: "earendil-works/pi#6567",
    body: sse(start(), tool(), PIECE, stop(), end(undefined), STOP),
  },
  "no usage at the beginning": {
    source: "openkursar/hello-halo#391",
    body: sse(start(null), tool(), PIECE, stop(), end(), STOP),
  },
  "all usage at the end, as text": {
    source: "envoyproxy/ai-gateway#2290",
    body: sse(
      start({}),
      tool(),
      PIECE,
      stop(),
      end({ input_tokens: "9", output_tokens: "5" }),
      STOP,
    ),
  },
  "text where its block begins": {
    body: sse(
      start(),
      ...says("I look."),
      tool(1),
      piece(JSON.stringify(ARGS), 1),
      stop(1),
      end(),
      STOP,
    ),
    text: "I look.",
  },
  "arguments where the call begins": {
    body: sse(start(), tool(0, { input: ARGS }), stop(), end(), STOP),
  },
  "arguments in both places": {
    body: sse(start(), tool(0, { input: ARGS }), PIECE, stop(), end(), STOP),
  },
  "arguments as an object, after an empty one": {
    body: sse(start(), tool(), piece("{}"), piece(ARGS), stop(), end(), STOP),
  },
  "a block of another kind beside the call": {
    body: sse(
      start(),
      { type: "content_block_start", index: 0, content_block: { type: "citation", source: "x" } },
      { type: "content_block_delta", index: 0, delta: { type: "citation_delta", cited: "y" } },
      stop(),
      tool(1),
      piece(JSON.stringify(ARGS), 1),
      stop(1),
      end(),
      STOP,
    ),
    notes: /unknown kind \(citation\)/,
  },
  "no end of the block, and none of the message": {
    source: "decolua/9router#2462",
    body: sse(start(), tool(), PIECE, end()),
  },
  "[DONE] at the end": {
    source: "Alishahryar1/free-claude-code#43",
    body: sse(start(), tool(), PIECE, stop(), end(), STOP, "[DONE]"),
  },
  "no beginning of the message, an index that is text, an id that is a number": {
    body: sse(tool("0", { id: 7 }), piece(JSON.stringify(ARGS), "0"), stop("0"), end(), STOP),
  },
  "another format's reason to stop": {
    body: sse(start(), tool(), PIECE, stop(), end({ output_tokens: 1 }, "tool_calls"), STOP),
  },
  "an answer that is not streamed": {
    body: JSON.stringify({
      id: "m",
      type: "message",
      role: "assistant",
      content: [
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_1", name: "read_file", input: ARGS },
      ],
      stop_reason: "tool_use",
      usage: null,
    }),
    type: "application/json",
    text: "I look.",
  },
};

const CALL = { functionCall: { name: "read_file", args: ARGS } };
const google = (parts: Json, more: Json = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
});
const GOOGLE: Record<string, Odd> = {
  "no finishReason": {
    source: "vybestack/llxprt-code#434",
    body: sse(google([{ text: "I look." }]), google([CALL])),
    text: "I look.",
  },
  "a finishReason before the answer": {
    source: "Chevey339/kelivo#1003",
    body: sse(google([], { finishReason: "STOP" }), google([CALL], { finishReason: "STOP" })),
  },
  "a candidate without content at the end": {
    source: "agentjido/req_llm#638",
    body: sse(google([CALL]), { candidates: [{ finishReason: "STOP" }], usageMetadata: {} }),
  },
  "a second candidate": {
    body: sse({
      candidates: [
        { index: 0, content: { parts: [CALL] }, finishReason: "STOP" },
        { index: 1, content: { parts: [CALL, { text: "twice" }] }, finishReason: "STOP" },
      ],
    }),
  },
  "a list of events in place of a stream": {
    body: JSON.stringify([google([{ text: "I look." }]), google([CALL], { finishReason: "STOP" })]),
    type: "application/json",
    text: "I look.",
  },
  "one answer in place of a stream": {
    body: JSON.stringify(google([CALL], { finishReason: "STOP" })),
    type: "application/json",
  },
  "an envelope, arguments as text, usage as text": {
    body: sse({
      response: {
        ...google([{ functionCall: { id: 3, name: "read_file", args: JSON.stringify(ARGS) } }], {
          finishReason: "STOP",
        }),
        usageMetadata: { promptTokenCount: "9", candidatesTokenCount: "2" },
      },
    }),
  },
  "a part of another kind beside the call": {
    body: sse(google([{ executableCode: { language: "PYTHON", code: "1" } }, CALL], {
      finishReason: "STOP",
    })),
    notes: /unknown kind \(executableCode\)/,
  },
};

const CREATED = { type: "response.created", response: { id: "r", created_at: 1, model: "m" } };
const FUNCTION = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "read_file",
  arguments: JSON.stringify(ARGS),
  status: "completed",
};
const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(FUNCTION).filter(([name]) => !names.includes(name)));
const added = (more: Json = {}, item: Json = FUNCTION) => ({
  type: "response.output_item.added",
  output_index: 0,
  item: { ...item, arguments: "", ...more },
});
const done = (item: Json = FUNCTION) => ({
  type: "response.output_item.done",
  output_index: 0,
  item,
});
const DELTA = {
  type: "response.function_call_arguments.delta",
  item_id: "fc_1",
  output_index: 0,
  delta: JSON.stringify(ARGS),
};
const completed = (more: Json = {}, type = "response.completed") => ({
  type,
  response: { id: "r", usage: { input_tokens: 3, output_tokens: 2 }, ...more },
});
const message = {
  type: "message",
  id: "msg_1",
  content: [{ type: "output_text", text: "I look." }],
};
const RESPONSES: Record<string, Odd> = {
  "a call without a status": {
    source: "Oaklight/llm-rosetta#56",
    body: sse(CREATED, added({}, without("status")), DELTA, done(without("status")), completed()),
  },
  "a call whose name is empty at its end": {
    source: "BigPizzaV3/CodexPlusPlus#614",
    body: sse(CREATED, added(), DELTA, done({ ...FUNCTION, name: "" }), completed()),
  },
  "no end of the call": {
    source: "NousResearch/hermes-agent#92764",
    body: sse(CREATED, added(), DELTA, completed()),
  },
  "text before its item, and no end of it": {
    source: "router-for-me/CLIProxyAPI#4860, SaladDay/cc-switch-cli#387",
    body: sse(
      CREATED,
      { type: "response.output_text.delta", item_id: "msg_1", delta: "I look." },
      { ...added(), output_index: 1 },
      { ...DELTA, output_index: 1 },
      { ...done(), output_index: 1 },
      completed(),
    ),
    text: "I look.",
  },
  "usage without details, or none": {
    source: "BigPizzaV3/CodexPlusPlus#774",
    body: sse(CREATED, added(), DELTA, done(), completed({ usage: null })),
  },
  "a beginning without an id": {
    source: "deanxv/done-hub#43",
    body: sse(
      { type: "response.created", response: {} },
      added(),
      DELTA,
      done(),
      completed({ id: undefined }),
    ),
  },
  "[DONE] in place of the end": {
    source: "openai/codex#41340",
    body: sse(CREATED, added(), DELTA, done(), "[DONE]"),
  },
  "the older name of the end": {
    body: sse(CREATED, added(), DELTA, done(), completed({}, "response.done"), "[DONE]"),
  },
  "a call that is told only at its end, with arguments as an object": {
    body: sse(CREATED, done({ ...FUNCTION, arguments: ARGS }), completed()),
  },
  "no ids of items": {
    body: sse(CREATED, added({ id: undefined }), done(without("id")), completed()),
  },
  "everything in the last event": {
    body: sse(CREATED, completed({ output: [message, without("status")] })),
    text: "I look.",
  },
  "an answer that is not streamed": {
    body: JSON.stringify({ id: "r", object: "response", output: [message, without("status")] }),
    type: "application/json",
    text: "I look.",
  },
  "an item of another kind beside the call": {
    body: sse(
      CREATED,
      added({}, { type: "search_results", id: "s" }),
      { ...added(), output_index: 1 },
      { ...done(), output_index: 1 },
      completed(),
    ),
    notes: /unknown kind \(search_results\)/,
  },
};

const notesOf = (events: Json[]) =>
  events.filter(({ type, data }) => type === "lane.note" && data.reason_code === MODEL_SKIPPED)
    .map(({ data }) => data.text);

const ALL = [
  [ANTHROPIC_DIALECT, ANTHROPIC],
  [GOOGLE_DIALECT, GOOGLE],
  [RESPONSES_DIALECT, RESPONSES],
] as const;

for (const [dialect, all] of ALL) {
  Deno.test({
    name: `odd gateways of the kind ${dialect.kind}: each call runs, and the answer is whole`,
    ignore,
    async fn(t) {
      await using it = await beginOdd(dialect);
      for (const [name, { source, text = "", notes, ...sent }] of Object.entries(all)) {
        await t.step(source === undefined ? name : `${name} (${source})`, async () => {
          const { data, events, bodies } = await it.turn(sent);
          assertEquals([data.stop_reason, data.error], ["ok", undefined]);
          const said = [...text === "" ? [] : [text], "It says true."].join("\n\n");
          assertEquals(data.message, said);
          const ran = events.filter(({ type }) => type === "session.tool_completed");
          assertEquals(ran.map(({ data }) => data.ok), [true]);
          assertEquals(bodies.length, 2, "asked once for the call, and once for the answer");
          const noted = notesOf(events);
          assertEquals(noted.length, notes === undefined ? 0 : 1, noted.join());
          if (notes !== undefined) assert(notes.test(noted[0]), noted[0]);
        });
      }
    },
  });
}

/** A call and its answer, after the server has refused or changed what it was asked first. */
async function answersAfter(
  dialect: Dialect,
  first: (asked: number, body: Json) => Sent,
): Promise<Json> {
  await using it = await beginOdd(dialect);
  return await it.turn(first);
}

Deno.test({
  name: "a gateway that takes fewer tokens in an answer is asked for fewer, once (anthropic)",
  ignore,
  async fn() {
    const exact = { body: sse(start(), tool(), PIECE, stop(), end(), STOP) };
    const refusal = {
      status: 400,
      type: "application/json",
      body: JSON.stringify({
        type: "error",
        error: {
          type: "invalid_request_error",
          message:
            "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m",
        },
      }),
    };
    const { data, bodies, events } = await answersAfter(
      ANTHROPIC_DIALECT,
      (_, body) => body.max_tokens > 8_192 ? refusal : exact,
    );
    assertEquals([data.stop_reason, data.message], ["ok", "It says true."]);
    assertEquals(bodies.map((body: Json) => body.max_tokens), [32_000, 8_192, 8_192]);
    assertEquals(notesOf(events), []);
  },
});

Deno.test({
  name: "text whose end a server never tells is asked for again once, then it stands (google)",
  ignore,
  async fn() {
    const { data, bodies, events } = await answersAfter(
      GOOGLE_DIALECT,
      () => ({ body: sse(google([{ text: "All is well." }])) }),
    );
    assertEquals([data.stop_reason, data.message], ["ok", "All is well."]);
    assertEquals(bodies.length, 2);
    assertEquals(notesOf(events).length, 1);
  },
});

Deno.test({
  name: "a login page and an error that come with 200 are told as what they are, in every format",
  ignore,
  async fn() {
    for (const dialect of [ANTHROPIC_DIALECT, GOOGLE_DIALECT, RESPONSES_DIALECT]) {
      await using it = await beginOdd(dialect);
      const page = "<html><head><title>Sign in to Corp</title></head><body></body></html>";
      const login = await it.turn({ body: page, type: "text/html" });
      assertEquals([login.data.stop_reason, login.bodies.length], ["error", 1]);
      assertStringIncludes(String(login.data.error), 'a web page ("Sign in to Corp")');
      const error = { message: "no such model: m", type: "invalid_request_error", code: 400 };
      const refused = await it.turn({ body: JSON.stringify({ error }), type: "application/json" });
      assertEquals([refused.data.stop_reason, refused.bodies.length], ["error", 1]);
      assertStringIncludes(String(refused.data.error), "no such model: m");
    }
  },
});
