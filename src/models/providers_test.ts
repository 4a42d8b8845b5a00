import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  fail,
} from "@std/assert";
import { deadline, delay } from "@std/async";
import {
  type Answer,
  type Json,
  type ModelServer,
  type Scripted,
  scriptSteps,
  type ServerOptions,
  startAnthropicServer,
  startGoogleServer,
  startOpenAiServer,
  startResponsesServer,
} from "../../tests/support/model_servers.ts";
import { granted } from "../../tests/support/permissions.ts";
import {
  type Message,
  type Model,
  ModelError,
  type ModelPart,
  type ModelRequest,
  type ToolCall,
  type ToolSpec,
} from "./model.ts";
import { openAiApi, type ProviderKind } from "./provider_address.ts";
import { type ProviderConfig, providerModel } from "./providers.ts";

const KEY = "sk-test-0123456789abcdef";
const ignore = !granted("net");

/** The wire formats; that of OpenAI's responses belongs to the kind "openai". */
type Format = ProviderKind | "openai-responses";

const STARTERS = {
  "openai": startOpenAiServer,
  "openai-responses": startResponsesServer,
  "openai-compatible": startOpenAiServer,
  "anthropic": startAnthropicServer,
  "google": startGoogleServer,
} satisfies Record<Format, (script: Scripted, options?: ServerOptions) => ModelServer>;
const KINDS = Object.keys(STARTERS) as Format[];

/** How a provider with a format is configured. */
function configOf(format: Format): Pick<ProviderConfig, "kind" | "api"> {
  return format === "openai-responses" ? { kind: "openai", api: "responses" } : { kind: format };
}

/** How a failed call arrives; chat completions have no mark for it. */
const FAILED: Record<Format, string> = {
  "openai": 'true {"error":"denied"}',
  "openai-responses": 'true {"error":"denied"}',
  "openai-compatible": "true denied",
  "anthropic": "false denied",
  "google": "false denied",
};

interface Setting {
  server: ModelServer;
  model: Model;
}

interface SettingOptions extends ServerOptions {
  /** Whether Deno itself may leave a response open. */
  leaves_open?: true;
  config?: Partial<ProviderConfig>;
}

/** A test of one provider against its server. */
function test(
  kind: Format,
  name: string,
  script: Scripted,
  fn: (setting: Setting) => Promise<void>,
  options: SettingOptions = {},
): void {
  Deno.test({
    name: `${kind}: ${name}`,
    ignore,
    sanitizeResources: !options.leaves_open,
    fn: async () => {
      const server = STARTERS[kind](script, { api_key: KEY, ...options });
      try {
        const model = await providerModel({
          name: "work",
          ...configOf(kind),
          base_url: server.url,
          api_key: KEY,
          key_source: "WORK_KEY",
          ...options.config,
        }, kind === "google" ? "gemini-3-pro-preview" : "test-model");
        await fn({ server, model });
      } finally {
        await server.close();
      }
    },
  });
}

function request(
  messages: ModelRequest["messages"],
  options: Partial<ModelRequest> = {},
): ModelRequest {
  return {
    system: "You work in a repository.",
    messages,
    tools: TOOLS,
    signal: new AbortController().signal,
    ...options,
  };
}

function user(text: string): Message {
  return { role: "user", text };
}

function tool(name: string): ToolSpec {
  return {
    name,
    description: `${name} a file`,
    input_schema: {
      type: "object",
      properties: { path: { type: "string" } },
      required: ["path"],
      additionalProperties: false,
    },
  };
}

const TOOLS = [tool("read_file"), tool("write_file")];

async function collect(model: Model, asked: ModelRequest): Promise<ModelPart[]> {
  return await Array.fromAsync(model.stream(asked));
}

function textOf(parts: ModelPart[]): string {
  return parts.map((part) => part.type === "text" ? part.text : "").join("");
}

function callsOf(parts: ModelPart[]): ToolCall[] {
  return parts.flatMap((part) => part.type === "call" ? [part.call] : []);
}

function finishOf(parts: ModelPart[]): Extract<ModelPart, { type: "finish" }> {
  const last = parts.at(-1);
  assert(last?.type === "finish", "the last part is the finish");
  return last;
}

async function failure(model: Model, asked: ModelRequest): Promise<ModelError> {
  return await assertRejects(() => collect(model, asked), ModelError);
}

/** The conversation after a turn of calls that all succeeded. */
function afterCalls(messages: Message[], calls: ToolCall[], output = "done"): Message[] {
  return [
    ...messages,
    { role: "assistant", text: "", calls },
    {
      role: "tool",
      results: calls.map(({ call_id, tool }) => ({ call_id, tool, ok: true, output })),
    },
  ];
}

for (const kind of KINDS) {
  const heard = Promise.withResolvers<void>();
  test(
    kind,
    "streams text as it comes and says what it used",
    () => ({
      text: ["Hel", "lo ", "wörld"],
      usage: { input: 40, output: 7 },
      // In one format the first is not text yet.
      hang_after: 2,
      go_on: heard.promise,
    }),
    async ({ server, model }) => {
      assertEquals(model.id, kind === "google" ? "work/gemini-3-pro-preview" : "work/test-model");
      const parts: ModelPart[] = [];
      for await (const part of model.stream(request([user("hi")], { tools: [] }))) {
        parts.push(part);
        // The rest is sent once the first piece has come.
        heard.resolve();
      }
      assertEquals(textOf(parts), "Hello wörld");
      assert(parts.filter(({ type }) => type === "text").length > 1);
      const { usage, reason } = finishOf(parts);
      assertEquals(reason, "stop");
      assertEquals(usage.tokens_out, 7);
      assertEquals(usage.tokens_in - usage.tokens_cached - usage.tokens_cache_write, 40);
      assertEquals(server.requests.length, 1);
    },
  );

  test(
    kind,
    "hands over calls whole and takes their results back",
    scriptSteps([
      {
        text: "I look.",
        calls: [
          { name: "read_file", args: { path: 'a "quoted" \\ path/ü.txt' } },
          { name: "write_file", args: { path: "b", deep: { list: [1, true, null] } } },
        ],
      },
      (asked) => {
        const last = asked.messages.at(-1);
        const results = last?.role === "tool" ? last.results : [];
        return { text: results.map((result) => `${result.ok} ${result.output}`).join("; ") };
      },
    ]),
    async ({ model }) => {
      const first = await collect(model, request([user("go")]));
      assertEquals(finishOf(first).reason, "calls");
      const calls = callsOf(first);
      assertEquals(calls.map(({ tool, args }) => ({ tool, args })), [
        { tool: "read_file", args: { path: 'a "quoted" \\ path/ü.txt' } },
        { tool: "write_file", args: { path: "b", deep: { list: [1, true, null] } } },
      ]);
      const second = await collect(
        model,
        request([
          user("go"),
          { role: "assistant", text: "I look.", calls },
          {
            role: "tool",
            results: [
              { call_id: calls[0].call_id, tool: "read_file", ok: true, output: "42" },
              { call_id: calls[1].call_id, tool: "write_file", ok: false, output: "denied" },
            ],
          },
        ]),
      );
      assertEquals(textOf(second), `true 42; ${FAILED[kind]}`);
    },
  );

  test(
    kind,
    "says when the answer was too long, filtered or refused",
    scriptSteps([
      { text: "cut", stop: "length" },
      { text: "", stop: "filter" },
      { text: "I cannot help.", stop: "refusal" },
    ]),
    async ({ model }) => {
      const reasons: string[] = [];
      for (let n = 0; n < 3; n++) {
        reasons.push(finishOf(await collect(model, request([user("x")]))).reason);
      }
      // Anthropic has one word for both, Gemini none for a refusal.
      const filtered = kind === "anthropic" ? "refused" : "filtered";
      const refused = kind === "google" ? "stop" : "refused";
      assertEquals(reasons, ["length", filtered, refused]);
    },
  );

  for (const [header, value, least, most] of retryHeaders()) {
    test(
      kind,
      `a 429 with ${header}: ${value} can be tried again then`,
      () => ({ status: { code: 429, message: "Slow down.", headers: { [header]: value } } }),
      async ({ model }) => {
        const error = await failure(model, request([user("x")]));
        assertEquals([error.status, error.retryable], [429, true]);
        const { retry_after_ms = NaN } = error;
        assert(retry_after_ms >= least && retry_after_ms <= most, `${retry_after_ms}`);
        assertEquals(error.message, "work answered 429: Slow down.");
      },
    );
  }

  for (const code of [408, 409, 500, 502, 529, 400, 404, 413]) {
    test(
      kind,
      `${code} can${code < 408 || code === 413 ? "not" : ""} be tried again`,
      () => ({ status: { code, message: "No." } }),
      async ({ model }) => {
        const error = await failure(model, request([user("x")]));
        assertEquals(error.retryable, ![400, 404, 413].includes(code));
        assertEquals([error.status, error.retry_after_ms], [code, undefined]);
      },
    );
  }

  const broken: [string, Answer][] = [
    ["a connection that is dropped", { text: "one two three four", cut_after: 2 }],
    ["a stream that just ends", { text: "one two three four", end_after: 2 }],
    ["a stream that ends before it began", { text: "one two", end_after: 0 }],
  ];
  for (const [name, answer] of broken) {
    test(kind, `${name} is an early end`, () => answer, async ({ model }) => {
      const parts: ModelPart[] = [];
      const error = await assertRejects(async () => {
        for await (const part of model.stream(request([user("x")]))) parts.push(part);
      }, ModelError);
      assertEquals(error.retryable, true);
      assertStringIncludes(error.message, "the stream ended early");
      assert(parts.every((part) => part.type === "text"), "no finish");
    });
  }

  const cuts: [string, Answer][] = [["dropped", { cut_after: 3 }], ["ended", { end_after: 3 }]];
  // Gemini sends a call in one piece.
  for (const [how, cut] of kind === "google" ? [] : cuts) {
    test(
      kind,
      `half a call of a stream that is ${how} is never handed over`,
      () => ({ calls: [{ name: "write_file", args: { path: "important" } }], ...cut }),
      async ({ model }) => {
        const parts: ModelPart[] = [];
        const error = await assertRejects(async () => {
          for await (const part of model.stream(request([user("x")]))) parts.push(part);
        }, ModelError);
        assertEquals([error.retryable, parts], [true, []]);
      },
    );
  }

  const limits = { first_byte_ms: 60_000, idle_ms: 60_000, answer_ms: 60_000 };
  const slow: [string, Scripted, Partial<typeof limits>, RegExp, number][] = [
    [
      "that sends nothing",
      () => Promise.withResolvers<Answer>().promise,
      { first_byte_ms: 50 },
      /^work sent nothing for 50ms \(\[agent\] first_byte_timeout in daemon\.toml\)$/,
      3,
    ],
    [
      "that falls silent",
      () => ({ text: "one two three four", hang_after: 2 }),
      { idle_ms: 50 },
      /^work sent nothing more for 50ms \(\[agent\] idle_timeout/,
      3,
    ],
    [
      "that never comes to an end",
      () => ({ text: Array(1000).fill("word "), pace_ms: 5 }),
      { answer_ms: 100 },
      /^work did not finish its answer within 100ms \(\[agent\] answer_timeout/,
      2,
    ],
  ];
  for (const [name, script, limit, message, attempts] of slow) {
    test(
      kind,
      `an answer ${name} is given up, and its connection closed`,
      script,
      async ({ server, model }) => {
        const error = await failure(model, request([user("x")]));
        assertMatch(error.message, message);
        assertEquals([error.retryable, error.attempts], [true, attempts]);
        assertEquals(await server.requests[0].ended, "closed by client");
      },
      { config: { limits: { ...limits, ...limit } } },
    );
  }

  test(
    kind,
    "an abort ends a wait that has a limit, also before the answer began",
    () => Promise.withResolvers<Answer>().promise,
    async ({ server, model }) => {
      const stop = new AbortController();
      const running = collect(model, request([user("x")], { signal: stop.signal }));
      while (server.requests.length === 0) await new Promise((done) => setTimeout(done, 5));
      stop.abort();
      assertEquals((await assertRejects(() => running, DOMException)).name, "AbortError");
      assertEquals(await server.requests[0].ended, "closed by client");
    },
  );

  for (const data of ["keep-alive", '{"half": "an ev', '{"type":"message_of_tomorrow"}']) {
    test(
      kind,
      `an event that cannot be read is skipped and told once: ${data}`,
      () => ({ text: "one two three four", stray: { after: 1, data } }),
      async ({ model }) => {
        const parts = await collect(model, request([user("x")]));
        assertEquals(textOf(parts), "one two three four");
        const told = parts.flatMap((part) => part.type === "skipped" ? [part.reason] : []);
        // Gemini's format has no field that must be there: an unknown object is an empty event.
        // OpenAI adds events to its responses format, and clients must pass over them.
        const known = kind === "google" || kind === "openai-responses";
        if (known && data.endsWith("}")) return assertEquals(told, []);
        const lost = data.startsWith("{") ? "; a part of the answer may be missing" : "";
        assertEquals(told, [`work sent an unreadable event, which was skipped${lost}`]);
        assertEquals(finishOf(parts).reason, "stop");
      },
    );
  }

  for (const [data, given] of [["keep-alive", true], ['{"half": "an ev', false]] as const) {
    test(
      kind,
      `calls of an answer with ${data} in it are ${given ? "" : "not "}handed over`,
      () => ({
        text: ["I look."],
        calls: [{ name: "write_file", args: { path: "a" } }],
        stray: { after: 1, data },
      }),
      async ({ model }) => {
        if (given) {
          const calls = callsOf(await collect(model, request([user("x")])));
          return assertEquals(calls.map(({ args }) => args), [{ path: "a" }]);
        }
        const error = await failure(model, request([user("x")]));
        assertEquals(error.retryable, true);
        assertEquals(error.message, "work sent tool calls with an unreadable event");
      },
    );
  }

  for (const after of [0, 2]) {
    const type = kind === "google" ? "UNAVAILABLE" : "overloaded_error";
    test(
      kind,
      `an error event after ${after} deltas can be tried again`,
      () => ({ text: "one two three four", fail: { after, type, message: "Overloaded" } }),
      async ({ model }) => {
        const error = await failure(model, request([user("x")]));
        assertEquals(error.retryable, true);
        assertMatch(error.message, /^work .*Overloaded/);
      },
    );
  }

  test(
    kind,
    "an abort closes the connection at once",
    () => ({ text: "one two three four", hang_after: 2 }),
    async ({ server, model }) => {
      const stop = new AbortController();
      const error = await assertRejects(async () => {
        for await (const _ of model.stream(request([user("x")], { signal: stop.signal }))) {
          stop.abort();
        }
      }, DOMException);
      assertEquals(error.name, "AbortError");
      assertEquals(await server.requests[0].ended, "closed by client");
    },
  );

  test(
    kind,
    "an abort while nothing has come yet closes the connection too",
    () => ({ text: "one", hang_after: 0 }),
    async ({ server, model }) => {
      const ended = async (n: number) => {
        const stop = new AbortController();
        const running = collect(model, request([user("x")], { signal: stop.signal }));
        while (server.requests.length === n) await delay(5);
        stop.abort(new Error("any reason"));
        const error = await assertRejects(() => running, DOMException);
        assertEquals(error.name, "AbortError");
        return await deadline(server.requests[n].ended, 5_000).catch(() => undefined);
      };
      // Deno's fetch forgets a connection whose answer begins in the very moment of the abort.
      for (let n = 0; n < 3; n++) if (await ended(n) === "closed by client") return;
      fail("connections stay open");
    },
    { leaves_open: true },
  );

  test(
    kind,
    "a reader that leaves closes the connection",
    () => ({ text: "one two three four", hang_after: 2 }),
    async ({ server, model }) => {
      for await (const _ of model.stream(request([user("x")]))) break;
      assertEquals(await server.requests[0].ended, "closed by client");
    },
  );

  test(
    kind,
    "an aborted signal asks nothing",
    () => ({ text: "one" }),
    async ({ server, model }) => {
      const asked = request([user("x")], { signal: AbortSignal.abort() });
      assertEquals(
        (await assertRejects(() => collect(model, asked), DOMException)).name,
        "AbortError",
      );
      assertEquals(server.requests.length, 0);
    },
  );

  test(
    kind,
    "a refused key is named by its variable and not shown",
    () => ({ text: "one" }),
    async ({ model }) => {
      const error = await failure(model, request([user("x")]));
      assertEquals(error.retryable, false);
      assertStringIncludes(error.message, "Check WORK_KEY");
      assert(!Deno.inspect(error).includes("sk-wrong-0123456789"), "the key is not shown");
    },
    { config: { api_key: "sk-wrong-0123456789" } },
  );

  test(
    kind,
    "a key that the provider repeats is masked",
    () => ({ status: { code: 500, message: `Cannot use ${KEY} now` } }),
    async ({ model }) => {
      const error = await failure(model, request([user("x")]));
      assertEquals(error.message, "work answered 500: Cannot use [key] now");
      assert(!Deno.inspect(error).includes(KEY), "the key is nowhere in the error");
    },
  );

  test(
    kind,
    "a missing key is said to be missing",
    () => ({ text: "one" }),
    async ({ model }) => {
      const error = await failure(model, request([user("x")]));
      assertStringIncludes(error.message, "No API key was sent: set WORK_KEY");
    },
    { config: { api_key: undefined } },
  );

  test(
    kind,
    "arguments that are no object are shown to the model in one",
    scriptSteps([(asked) => {
      const message = asked.messages[1];
      return { text: JSON.stringify(message.role === "assistant" ? message.calls[0].args : 0) };
    }]),
    async ({ model }) => {
      const calls = [{ call_id: "c1", tool: "read_file", args: '{"path": "a' }];
      const parts = await collect(model, request(afterCalls([user("x")], calls, "no JSON")));
      assertEquals(textOf(parts), '{"unparsed":"{\\"path\\": \\"a"}');
    },
  );

  test(
    kind,
    "blank messages do not spoil the conversation",
    () => ({ text: "fine" }),
    async ({ model }) => {
      const messages: Message[] = [
        user(" "),
        { role: "assistant", text: "\n", calls: [] },
        user("x"),
        ...afterCalls([], [{ call_id: "c1", tool: "read_file", args: {} }], ""),
      ];
      assertEquals(textOf(await collect(model, request(messages))), "fine");
    },
  );

  test(
    kind,
    "what svc tells is the person's side of the conversation, before their words",
    () => ({ text: "fine" }),
    async ({ server, model }) => {
      const told = (text: string) => ({ role: "context" as const, text });
      const calls = [{ call_id: "c1", tool: "read_file", args: {} }];
      const messages = [
        ...[told("one"), told("two"), user("say")],
        ...afterCalls([], calls, "out"),
        told("three"),
      ];
      await collect(model, request(messages));
      const { contents, messages: sent, input } = server.requests[0].body;
      const texts = (contents ?? sent ?? input)
        .flatMap((it: Json) => [it.parts ?? it.content ?? it.output ?? []].flat())
        .flatMap((it: Json) => typeof it === "string" ? [it] : it?.text ? [it.text] : []);
      const system = kind.startsWith("openai") ? ["You work in a repository."] : [];
      const out = kind.startsWith("openai") ? ["out"] : [];
      assertEquals(texts, [...system, "one\n\ntwo\n\nsay", ...out, "three"]);
    },
  );

  test(
    kind,
    "a longer conversation begins with the bytes of the shorter one",
    () => ({ text: "fine" }),
    async ({ server, model }) => {
      const messages = [user("x")];
      await collect(model, request(messages));
      await collect(model, request(messages));
      const longer = afterCalls(messages, [{
        call_id: "c1",
        tool: "read_file",
        args: { path: "a" },
      }]);
      await collect(model, request(longer));
      const [first, again, later] = server.requests.map(({ body }) => body);
      assertEquals(JSON.stringify(again), JSON.stringify(first));
      assertEquals(JSON.stringify(later.tools), JSON.stringify(first.tools));
      const list = ["contents", "input"].find((name) => name in first) ?? "messages";
      const unmarked = (value: unknown) =>
        JSON.stringify(value).replaceAll(',"cache_control":{"type":"ephemeral"}', "");
      const begin = unmarked(first[list]).slice(0, -1);
      assertEquals(unmarked(later[list]).slice(0, begin.length), begin);
    },
  );

  Deno.test({
    name: `${kind}: a server that is not there cannot be reached`,
    ignore,
    fn: async () => {
      const model = await providerModel(
        { name: "work", ...configOf(kind), base_url: "http://127.0.0.1:1/v1", api_key: KEY },
        "test-model",
      );
      const error = await failure(model, request([user("x")]));
      assertEquals([error.retryable, error.status], [true, undefined]);
      assertMatch(error.message, /^cannot reach http:\/\/127\.0\.0\.1:1\/v1: .*refused/);
    },
  });
}

/** Headers that say when to try again, and the least and most milliseconds that they mean. */
function retryHeaders(): [name: string, value: string, least: number, most: number][] {
  const hour = 3_600_000;
  const later = new Date(Date.now() + hour);
  return [
    ["retry-after", "7", 7000, 7000],
    ["retry-after-ms", "1234", 1234, 1234],
    // Any time may pass until the test of this one runs.
    ["retry-after", later.toUTCString(), 1, hour],
  ];
}

for (const kind of ["openai", "openai-responses", "openai-compatible", "anthropic"] as const) {
  test(
    kind,
    "arguments that are no JSON are handed over as they came",
    () => ({ calls: [{ name: "read_file", args: '{"path": "a' }] }),
    async ({ model }) => {
      const parts = await collect(model, request([user("x")]));
      assertEquals(callsOf(parts)[0].args, '{"path": "a');
      assertEquals(finishOf(parts).reason, "calls");
    },
  );

  test(
    kind,
    "no arguments are an empty object",
    () => ({ calls: [{ name: "read_file", args: "" }] }),
    async ({ model }) => {
      assertEquals(callsOf(await collect(model, request([user("x")])))[0].args, {});
    },
  );
}

test(
  "openai-compatible",
  'calls count also where the server says "stop"',
  () => ({ calls: [{ name: "read_file", args: {} }], stop: "stop" }),
  async ({ model }) => {
    assertEquals(finishOf(await collect(model, request([user("x")]))).reason, "calls");
  },
);

test(
  "openai-compatible",
  "a server without keys gets no authorization header",
  () => ({ text: "fine" }),
  async ({ server, model }) => {
    assertEquals(textOf(await collect(model, request([user("x")]))), "fine");
    assertEquals(server.requests[0].headers.get("authorization"), null);
  },
  { open: true, config: { api_key: undefined } },
);

test(
  "openai",
  "an account without credit is not tried again",
  () => ({
    status: { code: 429, message: "You exceeded your quota.", type: "insufficient_quota" },
  }),
  async ({ model }) => {
    const error = await failure(model, request([user("x")]));
    assertEquals([error.status, error.retryable], [429, false]);
  },
);

test(
  "openai",
  "requests carry the whole conversation and ask for nothing to be stored",
  () => ({ text: "fine" }),
  async ({ server, model }) => {
    const calls = [{ call_id: "c1", tool: "read_file", args: {}, echo: { google: { x: 1 } } }];
    await collect(model, request(afterCalls([user("x")], calls)));
    const { path, body } = server.requests[0];
    assertEquals([path, body.store], ["/v1/chat/completions", false]);
    assertEquals(body.messages.length, 4);
  },
);

test(
  "openai",
  "what the provider had cached is counted",
  () => ({ text: "fine", usage: { input: 2000, output: 5, cached: 1536 } }),
  async ({ model }) => {
    assertEquals(finishOf(await collect(model, request([user("x")]))).usage, {
      tokens_in: 2000,
      tokens_out: 5,
      tokens_cached: 1536,
      tokens_cache_write: 0,
    });
  },
);

test(
  "anthropic",
  "a repeated prefix comes from the cache, a reordered one does not",
  () => ({ text: "fine" }),
  async ({ server, model }) => {
    const messages = [user("the first question")];
    const first = finishOf(await collect(model, request(messages))).usage;
    assertEquals(first.tokens_cached, 0);
    assert(first.tokens_cache_write > 50, "the prefix is written to the cache");
    assertEquals(first.tokens_in, first.tokens_cache_write);

    const second = finishOf(await collect(model, request(messages))).usage;
    assertEquals(second.tokens_cached, first.tokens_cache_write);
    assertEquals([second.tokens_cache_write, second.tokens_in], [0, first.tokens_in]);

    const call = { call_id: "toolu_1", tool: "read_file", args: { path: "a" } };
    const longer = request(afterCalls(messages, [call], "the file's text"));
    const third = finishOf(await collect(model, longer)).usage;
    assertEquals(third.tokens_cached, first.tokens_cache_write);
    assertEquals(third.tokens_in, third.tokens_cached + third.tokens_cache_write);
    assert(third.tokens_cache_write > 0, "what is new is written");

    const reordered = request(messages, { tools: TOOLS.toReversed() });
    assertEquals(finishOf(await collect(model, reordered)).usage.tokens_cached, 0);

    const other = request([user("another conversation")]);
    const fifth = finishOf(await collect(model, other)).usage;
    assert(fifth.tokens_cached > 50, "tools and system are shared by all conversations");

    const { body } = server.requests[2];
    const ephemeral = { type: "ephemeral" };
    assertEquals(
      body.tools.map((tool: ToolSpec & { cache_control: unknown }) => tool.cache_control),
      [
        undefined,
        ephemeral,
      ],
    );
    assertEquals(body.system[0].cache_control, ephemeral);
    assertEquals(JSON.stringify(body.messages).match(/cache_control/g)?.length, 1);
    assertEquals(body.messages.at(-1).content.at(-1).cache_control, ephemeral);
  },
);

test(
  "anthropic",
  "ids of other providers are put into its alphabet",
  () => ({ text: "fine" }),
  async ({ server, model }) => {
    const calls = [{ call_id: "functions.read:0", tool: "read_file", args: {} }];
    assertEquals(textOf(await collect(model, request(afterCalls([user("x")], calls)))), "fine");
    assertEquals(server.requests[0].body.messages[1].content[0].id, "functions_read_0");
  },
);

test(
  "anthropic",
  "a call without a result is refused with the provider's words",
  () => ({ text: "fine" }),
  async ({ model }) => {
    const calls = [{ call_id: "toolu_1", tool: "read_file", args: {} }];
    const error = await failure(
      model,
      request([user("x"), { role: "assistant", text: "", calls }, user("y")]),
    );
    assertEquals([error.status, error.retryable], [400, false]);
    assertStringIncludes(error.message, "`tool_use` ids were found without `tool_result` blocks");
  },
);

test(
  "google",
  "a thought signature is given back with its call, and to nobody else",
  scriptSteps([
    { calls: [{ name: "read_file", args: { path: "a" }, signature: "c2lnbmVk" }] },
    { text: "fine" },
  ]),
  async ({ server, model }) => {
    const calls = callsOf(await collect(model, request([user("x")])));
    assertEquals(calls[0].echo, { google: { thoughtSignature: "c2lnbmVk" } });
    const next = request(afterCalls([user("x")], calls));
    assertEquals(textOf(await collect(model, next)), "fine");
    assertEquals(server.requests[1].body.contents[1].parts[0].thoughtSignature, "c2lnbmVk");

    const other = startOpenAiServer(() => ({ text: "fine" }), { api_key: KEY });
    try {
      const compatible = await providerModel(
        { name: "other", kind: "openai-compatible", base_url: other.url, api_key: KEY },
        "m",
      );
      assertEquals(textOf(await collect(compatible, next)), "fine");
      assert(!JSON.stringify(other.requests[0].body).includes("c2lnbmVk"));
    } finally {
      await other.close();
    }
  },
);

Deno.test({
  name: "a redirect is not followed, since the key would go with it",
  ignore,
  fn: async () => {
    let asked = 0;
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
      asked++;
      return new Response(null, { status: 307, headers: { location: "/elsewhere" } });
    });
    try {
      const base_url = `http://127.0.0.1:${server.addr.port}`;
      const model = await providerModel({ name: "work", kind: "anthropic", base_url }, "m");
      const error = await failure(model, request([user("x")]));
      assertStringIncludes(error.message, "It redirects to /elsewhere; set base_url to it");
      assertEquals(asked, 1);
    } finally {
      await server.shutdown();
    }
  },
});

Deno.test({
  name: "a web page instead of an API says so by its status and address",
  ignore,
  fn: async () => {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      () => new Response("<html>Not here</html>", { status: 404 }),
    );
    try {
      const base_url = `http://127.0.0.1:${server.addr.port}/v1`;
      const model = await providerModel({ name: "work", kind: "openai", base_url }, "m");
      const error = await failure(model, request([user("x")]));
      assertEquals(
        error.message,
        `work answered 404: Not Found. Check that base_url (${base_url}) is right`,
      );
    } finally {
      await server.shutdown();
    }
  },
});

Deno.test("an address that is none is refused before anything is asked", async () => {
  for (const base_url of ["localhost:11434", "ftp://x/", "", undefined]) {
    const config = { name: "local", kind: "openai-compatible" as const, base_url };
    const error = await assertRejects(() => providerModel(config, "m"), ModelError);
    assertStringIncludes(error.message, "base_url");
  }
});

Deno.test("OpenAI itself is asked for responses, another server of its kind for chat completions", () => {
  assertEquals(openAiApi({}), "responses");
  assertEquals(openAiApi({ base_url: "https://api.openai.com/v1/" }), "responses");
  assertEquals(openAiApi({ base_url: "https://gateway.example/v1" }), "chat");
  assertEquals(openAiApi({ base_url: "https://api.openai.com.example/v1" }), "chat");
  assertEquals(openAiApi({ api: "chat" }), "chat");
  assertEquals(openAiApi({ api: "responses", base_url: "http://127.0.0.1:1/v1" }), "responses");
});

test(
  "openai-responses",
  "reasoning goes back with the calls that follow it, and to nobody else",
  scriptSteps([
    {
      reasoning: ["First I look.", "Then I write."],
      text: "I look.",
      calls: [{ name: "read_file", args: { path: "a" } }, { name: "write_file", args: {} }],
    },
    { reasoning: ["Enough."], text: "Done." },
    { text: "fine" },
  ]),
  async ({ server, model }) => {
    const parts = await collect(model, request([user("x")]));
    assertEquals(textOf(parts), "I look.", "reasoning is no part of the answer");
    const calls: ToolCall[] = JSON.parse(JSON.stringify(callsOf(parts)));
    const messages = afterCalls([user("x")], calls);
    messages[1] = { role: "assistant", text: "I look.", calls };
    await collect(model, request(messages));
    await collect(model, request(messages));
    const [first, second, again] = server.requests.map(({ body }) => body);
    assertEquals(first.include, undefined, "not of a model that cannot reason");
    assertEquals([first.store, second.store], [false, false]);
    assertEquals(JSON.stringify(again), JSON.stringify(second));
    const types = second.input.map((it: Json) => it.type ?? it.role);
    assertEquals(types, [
      "system",
      "user",
      "reasoning",
      "reasoning",
      "assistant",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
    ]);
    assertEquals(second.input[2].summary, [{ type: "summary_text", text: "First I look." }]);
    assert(second.input[3].encrypted_content !== second.input[2].encrypted_content);
    assertEquals(server.requests.map(({ status }) => status), [200, 200, 200]);

    for (const [format, name] of [["openai-responses", "other-model"], ["openai", "test-model"]]) {
      const other = STARTERS[format as Format](() => ({ text: "fine" }), { api_key: KEY });
      try {
        const config = { name: "work", ...configOf(format as Format), api_key: KEY };
        const model = await providerModel({ ...config, base_url: other.url }, name);
        assertEquals(textOf(await collect(model, request(messages))), "fine");
        assert(!JSON.stringify(other.requests[0].body).includes("sealed:"), format);
      } finally {
        await other.close();
      }
    }
  },
);

Deno.test({
  name: "openai-responses: a model that can reason is asked for reasoning that it can read again",
  ignore,
  async fn() {
    const server = startResponsesServer(() => ({ text: "fine" }), { api_key: KEY });
    try {
      const config = { name: "work", ...configOf("openai-responses"), api_key: KEY };
      const model = await providerModel({ ...config, base_url: server.url }, "gpt-5.1");
      await collect(model, request([user("x")]));
      const { include, input } = server.requests[0].body;
      assertEquals([include, input[0].role], [["reasoning.encrypted_content"], "developer"]);
    } finally {
      await server.close();
    }
  },
});

for (const kind of ["openai-responses", "openai-compatible", "anthropic"] as const) {
  test(
    kind,
    "reasoning is streamed, is no part of the answer, and goes back where the provider wants it",
    scriptSteps([
      {
        reasoning: ["First I look. Then I write."],
        text: "I look.",
        calls: [{ name: "read_file", args: { path: "a" } }, { name: "write_file", args: {} }],
      },
      { reasoning: ["Enough."], text: "Done." },
    ]),
    async ({ server, model }) => {
      const options = { effort: "high", max_output_tokens: 4_000 } as const;
      const parts = await collect(model, request([user("x")], options));
      const thoughts = parts.flatMap((part) => part.type === "reasoning" ? [part.text] : []);
      assertEquals([thoughts.join(""), textOf(parts)], ["First I look. Then I write.", "I look."]);
      // As the journal keeps them.
      const calls: ToolCall[] = JSON.parse(JSON.stringify(callsOf(parts)));
      const messages = afterCalls([user("x")], calls);
      messages[1] = { role: "assistant", text: "I look.", calls };
      assertEquals(textOf(await collect(model, request(messages, options))), "Done.");
      assertStringIncludes(JSON.stringify(server.requests[1].body), "First I look.");
      const { reasoning, thinking, reasoning_effort } = server.requests[0].body;
      const asked = {
        "openai-responses": [undefined, undefined, undefined],
        "openai-compatible": [undefined, undefined, "high"],
        anthropic: [undefined, "enabled", undefined],
      }[kind];
      assertEquals([reasoning?.effort, thinking?.type, reasoning_effort], asked);
    },
  );
}

Deno.test({
  name: "an effort goes to OpenAI's and Google's models that can reason",
  ignore,
  async fn() {
    const models = { "openai-responses": "gpt-5.1", google: "gemini-3-pro-preview" } as const;
    for (const [format, name] of Object.entries(models)) {
      const server = STARTERS[format as Format](() => ({ text: "fine" }), { api_key: KEY });
      try {
        const config = { name: "work", ...configOf(format as Format), api_key: KEY };
        const model = await providerModel({ ...config, base_url: server.url }, name);
        await collect(model, request([user("x")], { effort: "low" }));
        await collect(model, request([user("x")]));
        const [asked, unset] = server.requests.map(({ body }) =>
          body.reasoning?.effort ?? body.generationConfig?.thinkingConfig?.thinkingLevel
        );
        assertEquals([asked, unset], ["low", undefined], format);
      } finally {
        await server.close();
      }
    }
  },
});
