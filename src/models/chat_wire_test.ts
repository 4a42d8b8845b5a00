import { assertEquals, assertRejects } from "@std/assert";
import { ChatAnswer, exactChat } from "./chat_wire.ts";
import { ModelError } from "./model.ts";

const CONTEXT = { name: "local", base_url: "http://127.0.0.1:1/v1", key_source: "x", secrets: [] };

// deno-lint-ignore no-explicit-any -- events as they are sent
type Event = any;

/** What a client of the exact format makes of events. */
function read(events: (Event | string)[]) {
  const answer = new ChatAnswer((tool) => ["ls", "w", "x", "y"].includes(tool));
  const read = { text: "", thought: "", calls: [] as Event[], finish: [] as string[], usage: {} };
  for (const event of [...events, "[DONE]"]) {
    for (const line of answer.take(typeof event === "string" ? event : JSON.stringify(event))) {
      if (line === "[DONE]") continue;
      const { choices, usage } = JSON.parse(line);
      if (usage) read.usage = usage;
      for (const { delta, finish_reason } of choices) {
        read.text += delta.content ?? "";
        read.thought += delta.reasoning_content ?? "";
        for (const { index, id, function: made } of delta.tool_calls ?? []) {
          const call = read.calls[index] ??= { id, name: made.name, args: "" };
          call.args += made.arguments ?? "";
        }
        if (finish_reason !== null) read.finish.push(finish_reason);
      }
    }
  }
  return read;
}

const delta = (delta: Event, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const call = (piece: Event) => delta({ tool_calls: [piece] });
const LS = { name: "ls", args: '{"path":"."}' };
const made = (events: Event[]) => read(events).calls.map(({ name, args }) => ({ name, args }));

Deno.test("usage without choices, and usage as text, are counted", () => {
  const { text, usage, finish } = read([
    delta({ content: "It is 42." }, "stop"),
    {
      usage: { prompt_tokens: "900", completion_tokens: 5, cost: "0.1", details: { cached: "2" } },
    },
  ]);
  assertEquals([text, finish], ["It is 42.", ["stop"]]);
  assertEquals(usage, {
    prompt_tokens: 900,
    completion_tokens: 5,
    cost: 0.1,
    details: { cached: 2 },
  });
});

Deno.test("an answer whose end is not told ends with what was sent", () => {
  const events = [call({ index: 0, id: "a", function: { name: "ls", arguments: '{"path":"."}' } })];
  assertEquals(read(events).finish, ["tool_calls"]);
  assertEquals(made(events), [LS]);
  assertEquals(read([delta({ content: "hi" })]).finish, ["stop"]);
  assertEquals(read([delta({ content: "hi" }, "")]).finish, ["stop"]);
  assertEquals(read([]).finish, []);
});

Deno.test("arguments are taken as an object, after an empty one, and with raw line ends", () => {
  const begin = { index: 0, id: "a", function: { name: "ls", arguments: "{}" } };
  const rest = { index: 0, function: { arguments: '{"path":"."}' } };
  assertEquals(made([call(begin), call(rest), delta({}, "tool_calls")]), [LS]);
  assertEquals(made([call(begin), delta({}, "tool_calls")]), [{ name: "ls", args: "{}" }]);
  const object = { index: 0, id: "a", function: { name: "ls", arguments: { path: "." } } };
  assertEquals(made([call(object)]), [LS]);
  const raw = `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"w",` +
    `"arguments":"{\\"t\\":\\"a\nb\\"}"}}]}}]}`;
  assertEquals(made([raw]), [{ name: "w", args: '{"t":"a\nb"}' }]);
});

Deno.test("calls are told apart by index, by id and by name, however these are sent", () => {
  const named = (more: Event, name: string) => ({ ...more, function: { name, arguments: "{" } });
  const rest = (more: Event) => ({ ...more, function: { arguments: "}" } });
  for (
    const [one, two] of [
      [{ index: "0", id: 7 }, { index: "1", id: 8 }],
      [{ id: "a" }, { id: "b" }],
      [{ index: 0, id: "a" }, { index: 0, id: "b" }],
      [{ index: null, id: null }, { index: null, id: null }],
    ]
  ) {
    const events = [named(one, "x"), rest(one), named(two, "y"), rest(two)].map(call);
    assertEquals(made(events), [{ name: "x", args: "{}" }, { name: "y", args: "{}" }]);
  }
  const { calls } = read([call({ index: 0, id: 7, function: { name: "x" } })]);
  assertEquals(calls[0].id, "7");
});

Deno.test("old and other shapes of a message are read", () => {
  assertEquals(made([delta({ function_call: { name: "ls", arguments: '{"path":"."}' } })]), [LS]);
  assertEquals(
    made([delta({ tool_calls: { function: { name: "ls", arguments: '{"path":"."}' } } })]),
    [LS],
  );
  const message = { role: "assistant", content: [{ type: "text", text: "hi" }] };
  const { text, finish } = read([{ choices: [{ message, finish_reason: "stop" }] }]);
  assertEquals([text, finish], ["hi", ["stop"]]);
  const second = [{ index: 1, delta: { content: "no" } }, { index: 0, delta: { content: "yes" } }];
  assertEquals(read([{ choices: second }]).text, "yes");
});

Deno.test("thoughts and calls in the text are what they are, cut anywhere", () => {
  const text = '<think>Let me see.</think>\n\nI look.<tool_call>{"name":"ls","arguments":' +
    '{"path":"."}}</tool_call>';
  for (let size = 1; size <= text.length; size++) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g"))!;
    const answer = read([...pieces.map((content) => delta({ content })), delta({}, "stop")]);
    assertEquals([answer.thought, answer.text], ["Let me see.", "I look."]);
    assertEquals(answer.calls.map(({ name, args }) => ({ name, args })), [LS]);
    assertEquals(answer.finish, ["tool_calls"]);
  }
});

Deno.test("what only looks like a thought or a call stays text", () => {
  const texts = [
    "The tag <think> opens a thought, </think> closes it.",
    "Write <tool_call>no JSON</tool_call> there.",
    "a <tool_call>{",
    'Of no tool: <tool_call>{"name":"rm","arguments":{}}</tool_call>',
    '```\n<tool_call>{"name":"ls","arguments":{}}</tool_call>\n```\n',
    '```<tool_call>{"name":"ls"} </tool_call>',
    "1 < 2 <",
    "  <thin",
    "",
  ];
  for (const text of texts) {
    for (const size of [1, 3, 100]) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      const answer = read([...pieces.map((content) => delta({ content })), delta({}, "stop")]);
      assertEquals([answer.text, answer.thought, answer.calls], [text, "", []]);
    }
  }
});

const answering = (body: string, type: string) =>
  exactChat(
    () => Promise.resolve(new Response(body, { headers: { "content-type": type } })),
    CONTEXT,
    { given: [], required: false },
  );

Deno.test("an answer that is not streamed becomes a stream; another type does not hide one", async () => {
  const message = {
    content: null,
    tool_calls: [{ id: "a", function: { name: "ls", arguments: "{}" } }],
  };
  const whole = {
    choices: [{ message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 3 },
  };
  const read = await (await answering(JSON.stringify(whole), "application/json")("http://x"))
    .text();
  const [first] = read.split("\n\n");
  const { choices, usage } = JSON.parse(first.slice("data: ".length));
  assertEquals(choices[0].delta.tool_calls[0].function.name, "ls");
  assertEquals([choices[0].finish_reason, usage.prompt_tokens], ["tool_calls", 3]);
  assertEquals(read.trimEnd().endsWith("data: [DONE]"), true);
  const streamed = `\n: hi\n\ndata: ${JSON.stringify(delta({ content: "x" }, "stop"))}\n\n`;
  const again = await (await answering(streamed, "application/json")("http://x")).text();
  assertEquals(JSON.parse(again.slice("data: ".length)).choices[0].delta.content, "x");
});

Deno.test("an error that comes with 200 is one, and a login page is named", async () => {
  const status = async (error: Event) =>
    (await answering(JSON.stringify({ error }), "application/json")("http://x")).status;
  assertEquals(await status({ message: "slow down", code: 429 }), 429);
  assertEquals(await status({ message: "no", type: "invalid_request_error" }), 400);
  assertEquals(await status("broken"), 502);
  const page = "<!doctype html><html><head><title>Sign in</title></head></html>";
  const error = await assertRejects(
    () => answering(page, "text/html")("http://x"),
    ModelError,
    'answered with a web page ("Sign in")',
  );
  assertEquals(error.retryable, false);
});
