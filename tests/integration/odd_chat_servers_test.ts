/**
 * Servers of chat completions that are not quite compatible, as users of other agents reported them:
 * each sends a call in its own way, and the call runs, once. The report stands in the name of the step.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { beginOdd, CHAT_DIALECT, type Json, sse } from "../support/odd_server.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;

const chunk = (delta: Json, finish_reason: string | null = null, more: Json = {}) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});
const ARGS = '{"path":"notes.txt"}';
const call = (more: Json = {}, args: Json = ARGS, name = "read_file") => ({
  tool_calls: [{
    index: 0,
    id: "call_a",
    type: "function",
    ...more,
    function: { name, arguments: args },
  }],
});
const END = chunk({}, "tool_calls");

interface Odd {
  /** The report; without one it was found by trying. */
  source?: string;
  /** The answer with the call, as it is sent. */
  body: string;
  type?: string;
  /** What the conversation shows of the model's text before the call. */
  text?: string;
  /** How often the file is read. */
  reads?: number;
}

const ODD: Record<string, Odd> = {
  "usage without choices": {
    source: "anomalyco/opencode#1298",
    body: sse(chunk(call()), END, { usage: { prompt_tokens: 9, cost: 0.1 }, credits: 3 }, "[DONE]"),
  },
  "no finish_reason before [DONE]": {
    source: "openclaw/openclaw#97994",
    body: sse(chunk(call()), "[DONE]"),
  },
  "an empty object before the arguments": {
    source: "microsoft/autogen#6843",
    body: sse(
      chunk(call({}, "{}")),
      chunk(call({ id: undefined }, ARGS, "")),
      END,
      "[DONE]",
    ),
  },
  "arguments as an object": {
    source: "ggml-org/llama.cpp#20198",
    body: sse(chunk(call({}, { path: "notes.txt" })), END, "[DONE]"),
  },
  "an id that is a number, an index that is a text": {
    body: sse(chunk(call({ id: 7, index: "0" })), END, "[DONE]"),
  },
  "index 0 for each of two calls": {
    source: "apache/maka#1976",
    body: sse(chunk(call()), chunk(call({ id: "call_b" })), END, "[DONE]"),
    reads: 2,
  },
  "no index": {
    source: "ollama/ollama#7881",
    body: sse(
      chunk(call({ index: undefined }, '{"path":')),
      chunk(call({ index: undefined, id: undefined }, '"notes.txt"}', "")),
      END,
      "[DONE]",
    ),
  },
  "an answer that is not streamed": {
    body: JSON.stringify({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{
        index: 0,
        message: { role: "assistant", content: "I look.", ...call({ index: undefined }) },
        finish_reason: "tool_calls",
      }],
      usage: { prompt_tokens: "12", completion_tokens: "3" },
    }),
    type: "application/json",
    text: "I look.",
  },
  "the old function_call": {
    source: "can1357/oh-my-pi#1692",
    body: sse(chunk({ function_call: { name: "read_file", arguments: ARGS } }), END, "[DONE]"),
  },
  "a call in the text": {
    source: "odysseus-dev/odysseus#5187",
    body: sse(
      chunk({ content: "I look.<tool_" }),
      chunk({ content: `call>{"name":"read_file","arguments":${ARGS}}</tool_call>` }),
      chunk({}, "stop"),
      "[DONE]",
    ),
    text: "I look.",
  },
  "thoughts in the text": {
    source: "anomalyco/opencode#21515",
    body: sse(
      chunk({ content: "<think>The person wants" }),
      chunk({ content: " it.</think>\n\nI look." }),
      chunk(call()),
      END,
      "[DONE]",
    ),
    text: "I look.",
  },
  "a finish_reason of stop with a call": {
    source: "Blaizzy/mlx-vlm#1014",
    body: sse(chunk(call()), chunk({}, "stop"), "[DONE]"),
  },
  "empty events that keep the connection open": {
    source: "omnigent-ai/omnigent#1474",
    body: `data:\n\n${sse(chunk(call()))}data: \n\n${sse(END, "[DONE]")}`,
  },
  "a stream whose type is JSON": {
    body: sse(chunk(call()), END, "[DONE]"),
    type: "application/json",
  },
};

Deno.test({
  name: "odd servers of chat completions: each call runs, and the answer is whole",
  ignore,
  async fn(t) {
    await using it = await beginOdd(CHAT_DIALECT);
    for (const [name, { source, body, type, text = "", reads = 1 }] of Object.entries(ODD)) {
      await t.step(source === undefined ? name : `${name} (${source})`, async () => {
        const { data, events, bodies } = await it.turn({ body, type });
        assertEquals([data.stop_reason, data.error], ["ok", undefined]);
        const answer = ["It says true."];
        assertEquals(data.message, [...text === "" ? [] : [text], ...answer].join("\n\n"));
        const ran = events.filter((event) => event.type === "session.tool_completed");
        assertEquals(ran.map(({ data }) => data.ok), Array(reads).fill(true));
        assertEquals(bodies.length, 2, "asked once for the call, and once for the answer");
      });
    }
  },
});

Deno.test({
  name: "an error or a login page that comes with 200 is told as what it is, and asked for once",
  ignore,
  async fn() {
    await using it = await beginOdd(CHAT_DIALECT);
    const page = "<html><head><title>Sign in to Corp</title></head><body></body></html>";
    const login = await it.turn({ body: page, type: "text/html" });
    assertEquals([login.data.stop_reason, login.bodies.length], ["error", 1]);
    assertStringIncludes(login.data.error, 'a web page ("Sign in to Corp")');
    assertStringIncludes(login.data.error, "base_url");
    const error = { message: "no such model: m", type: "invalid_request_error" };
    const refused = await it.turn({ body: JSON.stringify({ error }), type: "application/json" });
    assertEquals([refused.data.stop_reason, refused.bodies.length], ["error", 1]);
    assert(refused.data.error.includes("no such model: m"), refused.data.error);
  },
});
