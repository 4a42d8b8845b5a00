import { assertEquals } from "@std/assert";
import { AnthropicAnswer } from "./anthropic_wire.ts";

// deno-lint-ignore no-explicit-any -- events as they are sent
type Json = any;

const START = { type: "message_start", message: { id: "m", usage: { input_tokens: 3 } } };
const STOP = { type: "message_stop" };
const text = (index: number, text: string) => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index, delta: { type: "text_delta", text } },
  { type: "content_block_stop", index },
];
const ended = (stop_reason: string, output_tokens = 1) => ({
  type: "message_delta",
  delta: { stop_reason },
  usage: { output_tokens },
});

/** What an answer comes to when its events are read exactly. */
function read(events: Json[], whole = false) {
  const lost: string[] = [];
  const answer = new AnthropicAnswer((what) => lost.push(what));
  const out = [
    ...whole
      ? answer.whole(events[0])
      : events.flatMap((it) => answer.take(typeof it === "string" ? it : JSON.stringify(it))),
    ...answer.end(),
  ].map((it) => JSON.parse(it));
  const blocks: Json[] = [];
  const said: Json = { types: out.map(({ type }) => type), blocks, lost };
  for (const { type, index, content_block, delta, usage, message, error } of out) {
    if (type === "message_start") said.tokens_in = message.usage.input_tokens;
    if (type === "content_block_start") blocks[index] = { ...content_block, args: "" };
    if (type === "content_block_delta") {
      blocks[index].text = (blocks[index].text ?? "") + (delta.text ?? "");
      blocks[index].thinking = (blocks[index].thinking ?? "") + (delta.thinking ?? "");
      blocks[index].args += delta.partial_json ?? "";
      if (delta.signature !== undefined) blocks[index].signature = delta.signature;
    }
    if (type === "content_block_stop") blocks[index].closed = true;
    if (type === "message_delta") {
      [said.reason, said.tokens_out] = [delta.stop_reason, usage.output_tokens];
    }
    if (type === "error") said.error = error;
  }
  said.text = blocks.map((it) => it?.text ?? "").join("");
  said.calls = blocks.filter((it) => it?.type === "tool_use")
    .map(({ id, name, args }) => [id, name, args]);
  said.closed = blocks.every((it) => it === undefined || it.closed);
  said.stopped = said.types.at(-1) === "message_stop";
  return said;
}

const tool = (index: number, more: Json = {}) => ({
  type: "content_block_start",
  index,
  content_block: { type: "tool_use", id: "t", name: "ls", input: {}, ...more },
});
const args = (index: number, partial_json: Json) => ({
  type: "content_block_delta",
  index,
  delta: { type: "input_json_delta", partial_json },
});

Deno.test("an exact answer stays as it is", () => {
  const said = read([START, ...text(0, "hi"), ended("end_turn", 7), STOP]);
  assertEquals([said.text, said.tokens_in, said.tokens_out], ["hi", 3, 7]);
  assertEquals(said.types, [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

Deno.test("usage may be missing, null, text or incomplete, at the beginning and at the end", () => {
  for (const usage of [undefined, null, {}, { input_tokens: null }, { input_tokens: "3" }]) {
    const start = { type: "message_start", message: { id: "m", usage } };
    const end = { type: "message_delta", delta: { stop_reason: "tool_use" }, usage };
    const said = read([start, tool(0), args(0, '{"path":"."}'), end, STOP]);
    assertEquals([said.calls, said.reason], [[["t", "ls", '{"path":"."}']], "tool_use"]);
    assertEquals([typeof said.tokens_in, typeof said.tokens_out], ["number", "number"]);
  }
  assertEquals(
    read([{ type: "message_start" }, ...text(0, "a"), ended("end_turn"), STOP]).text,
    "a",
  );
});

Deno.test("what comes with the beginning of a block is not lost", () => {
  const said = read([
    START,
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "He" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "y" } },
    { type: "content_block_stop", index: 0 },
    tool(1, { input: { path: "a" } }),
    { type: "content_block_stop", index: 1 },
    tool(2, { input: '{"path":"b"}', id: 7 }),
    { type: "content_block_stop", index: 2 },
    tool(3, { input: { path: "old" }, id: "d" }),
    args(3, '{"path":"new"}'),
    { type: "content_block_stop", index: 3 },
    ended("tool_use"),
    STOP,
  ]);
  assertEquals(said.text, "Hey");
  assertEquals(said.calls, [
    ["t", "ls", '{"path":"a"}'],
    ["7", "ls", '{"path":"b"}'],
    ["d", "ls", '{"path":"new"}'],
  ]);
});

Deno.test("arguments are taken as an object, and after an empty one", () => {
  assertEquals(
    read([START, tool(0), args(0, { path: "a" }), ended("tool_use"), STOP]).calls[0][2],
    '{"path":"a"}',
  );
  const twice = read([
    START,
    tool(0),
    args(0, "{}"),
    args(0, '{"path":'),
    args(0, '"a"}'),
    ended("tool_use"),
    STOP,
  ]);
  assertEquals(twice.calls[0][2], '{"path":"a"}');
  assertEquals(read([START, tool(0), args(0, "{}"), ended("tool_use"), STOP]).calls[0][2], "{}");
});

Deno.test("a block of an unknown kind is left out and named; the call beside it runs", () => {
  const said = read([
    START,
    { type: "content_block_start", index: 0, content_block: { type: "search_quote", quote: "x" } },
    { type: "content_block_delta", index: 0, delta: { type: "quote_delta", quote: "y" } },
    { type: "content_block_stop", index: 0 },
    tool(1),
    args(1, "{}"),
    { type: "content_block_stop", index: 1 },
    ended("tool_use"),
    STOP,
  ]);
  assertEquals(said.calls, [["t", "ls", "{}"]]);
  assertEquals(said.lost, ["a part of the answer of an unknown kind (search_quote)"]);
});

Deno.test("missing ends and beginnings are added, once", () => {
  const open = [START, text(0, "a")[0], text(0, "a")[1]];
  for (
    const end of [
      [ended("end_turn"), STOP],
      [ended("end_turn")],
      [STOP],
      ["[DONE]"],
      [ended("end_turn"), "[DONE]"],
      [ended("end_turn"), STOP, STOP, "[DONE]"],
    ]
  ) {
    const said = read([...open, ...end]);
    assertEquals([said.text, said.closed, said.stopped, said.reason], [
      "a",
      true,
      true,
      "end_turn",
    ]);
    assertEquals(said.types.filter((type: string) => type === "message_stop").length, 1);
  }
  const bare = read([
    { type: "content_block_delta", index: 0, delta: { text: "a" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "b" } },
    ended("stop"),
  ]);
  assertEquals([bare.text, bare.types[0], bare.reason], ["ab", "message_start", "end_turn"]);
  const next = read([START, tool(0), args(0, "{}"), tool(1, { id: "u" }), args(1, "{}"), STOP]);
  assertEquals([next.calls.length, next.closed, next.reason], [2, true, "tool_use"]);
});

Deno.test("an answer that was cut off stays cut off", () => {
  assertEquals(read([START, ...text(0, "half")]).stopped, false);
  assertEquals(read([START, tool(0), args(0, '{"path":')]).stopped, false);
});

Deno.test("reasons in the words of other formats, and a pause, are understood", () => {
  for (
    const [given, meant] of [["stop", "end_turn"], ["length", "max_tokens"], [
      "pause_turn",
      "max_tokens",
    ], ["refusal", "refusal"]]
  ) {
    assertEquals(read([START, ...text(0, "a"), ended(given), STOP]).reason, meant);
  }
  assertEquals(read([START, tool(0), args(0, "{}"), ended("end_turn"), STOP]).reason, "tool_use");
});

Deno.test("reasoning without a signature can go back", () => {
  const thinks = (more: Json[]) =>
    read([
      START,
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "I" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "thinking_delta", thinking: " see" },
      },
      ...more,
      { type: "content_block_stop", index: 0 },
      ended("end_turn"),
      STOP,
    ]).blocks[0];
  assertEquals([thinks([]).thinking, thinks([]).signature], ["I see", ""]);
  const signed = {
    type: "content_block_delta",
    index: 0,
    delta: { type: "signature_delta", signature: "s" },
  };
  assertEquals(thinks([signed]).signature, "s");
});

Deno.test("a whole answer, errors of any form and other events are read", () => {
  const content = [{ type: "text", text: "Hi" }, {
    type: "tool_use",
    id: "t",
    name: "ls",
    input: { path: "." },
  }];
  const said = read(
    [{ id: "m", content, stop_reason: "tool_use", usage: { input_tokens: 2 } }],
    true,
  );
  assertEquals([said.text, said.calls, said.reason], [
    "Hi",
    [["t", "ls", '{"path":"."}']],
    "tool_use",
  ]);
  assertEquals(read([START, { error: "busy" }]).error, { type: "api_error", message: "busy" });
  assertEquals(
    read([{ type: "error", error: { message: "no", code: 5 } }]).error.type,
    "api_error",
  );
  assertEquals(read([{ type: "ping" }, { type: "gateway.metrics" }, START]).types, [
    "message_start",
  ]);
});
