/** The providers that svc knows by name, each against a server with its wire format. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { checkKey, listModels } from "./model_lists.ts";
import type { Message, ModelPart, ToolCall } from "./model.ts";
import { overview } from "./overview.ts";
import { PRESETS } from "./presets.ts";
import { headersOf } from "./provider_http.ts";
import { ModelRegistry } from "./registry.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

const ignore = !granted("net");
const KEY = "key-0123456789abcdef";
const signal = AbortSignal.timeout(60_000);

interface Asked {
  path: string;
  headers: Headers;
  body: Json;
}

/** A server that answers each request with the next of some answers. */
function serve(answers: (() => Response)[]) {
  const asked: Asked[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname: path } = new URL(request.url);
    const text = await request.text();
    const body = text === "" ? undefined : JSON.parse(text);
    asked.push({ path, headers: request.headers, body });
    return answers[asked.length - 1]?.() ?? new Response("unexpected", { status: 500 });
  });
  return {
    asked,
    origin: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A registry with the preset of a provider, moved to a server of the test. */
function registry(name: string, base_url: string): ModelRegistry {
  const [variable] = PRESETS[name].key_env;
  return new ModelRegistry({
    models: { [name]: { base_url, api_key_env: variable } },
    env: (asked) => asked === variable ? KEY : undefined,
    builtin: () => Promise.reject(new Error("unused")),
    agentProblem: () => undefined,
  });
}

function events(...chunks: Json[]): () => Response {
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  return () =>
    new Response(`${text}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

const delta = (delta: Json, finish_reason: string | null = null, usage?: Json) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason }],
  ...(usage && { usage }),
});
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

async function answer(from: ModelRegistry, id: string, messages: Message[]): Promise<ModelPart[]> {
  const model = await from.resolve(id);
  const tools = [{ name: "ls", description: "Lists.", input_schema: { type: "object" } }];
  return await Array.fromAsync(model.stream({ system: "Help.", messages, tools, signal }));
}

const callsIn = (parts: ModelPart[]): ToolCall[] =>
  parts.flatMap((part) => part.type === "call" ? [part.call] : []);
const textIn = (parts: ModelPart[], type: "text" | "reasoning") =>
  parts.map((part) => part.type === type && "text" in part ? part.text : "").join("");

Deno.test("every preset that needs a key has a variable, an address or a variable for one", () => {
  for (const [name, { key_env, base_url, base_url_env, kind }] of Object.entries(PRESETS)) {
    if (name === "ollama") continue;
    assert(
      base_url !== undefined || base_url_env !== undefined || kind === "google",
      `${name} has no address`,
    );
    if (base_url !== undefined && key_env.length > 0) assertMatch(base_url, /^https:/);
  }
});

Deno.test({
  name: "compatible providers: key, path, answer with calls and tokens",
  ignore,
  async fn() {
    const calls = delta({
      tool_calls: [{
        index: 0,
        id: "call_1",
        type: "function",
        function: { name: "ls", arguments: "{}" },
      }],
    });
    const presets = Object.entries(PRESETS).filter(([, { kind, key_env }]) =>
      kind === "openai-compatible" && key_env.length > 0
    );
    assertEquals(presets.length, 8);
    for (const [name, { base_url, quirks }] of presets) {
      await using server = serve([
        events(delta({ role: "assistant", content: "so" }), calls, delta({}, "tool_calls", USAGE)),
      ]);
      const { pathname } = new URL(base_url!);
      const parts = await answer(registry(name, server.origin + pathname), `${name}/m`, [
        { role: "user", text: "hi" },
      ]);
      assertEquals(textIn(parts, "text"), "so");
      assertEquals(callsIn(parts).map(({ tool, call_id }) => [tool, call_id]), [["ls", "call_1"]]);
      const finish = parts.at(-1);
      assert(finish?.type === "finish" && finish.usage.tokens_in === 7, `${name} counts no tokens`);
      const [{ path, headers, body }] = server.asked;
      assertEquals(path, `${pathname}/chat/completions`.replace("//", "/"));
      assertEquals(headers.get("authorization"), `Bearer ${KEY}`);
      assertEquals("stream_options" in body, quirks?.no_stream_options !== true, name);
    }
  },
});

Deno.test({
  name: "mistral: short ids of calls, the same ones each time, and reasoning in a list of parts",
  ignore,
  async fn() {
    await using server = serve([
      events(
        delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
        delta({ content: [{ type: "text", text: "so" }] }),
        delta({ content: "!" }, "stop", USAGE),
      ),
    ]);
    const from = registry("mistral", `${server.origin}/v1`);
    const call = (call_id: string) => ({ call_id, tool: "ls", args: {} });
    const result = (call_id: string) => ({ call_id, tool: "ls", ok: true, output: "a" });
    const ids = ["toolu_01ABCDEFGHIJKLMN", "toolu_02ABCDEFGHIJKLMN", "abc123XYZ"];
    const parts = await answer(from, "mistral/m", [
      { role: "user", text: "hi" },
      { role: "assistant", text: "", calls: ids.map(call) },
      { role: "tool", results: ids.map(result) },
    ]);
    assertEquals([textIn(parts, "reasoning"), textIn(parts, "text")], ["hm", "so!"]);
    const [{ body: { messages } }] = server.asked;
    const sent = messages[2].tool_calls.map(({ id }: Json) => id);
    assertEquals(sent, messages.slice(3).map((it: Json) => it.tool_call_id));
    assertEquals(new Set(sent).size, 3);
    assertEquals(sent[2], "abc123XYZ");
    for (const id of sent) assertMatch(id, /^[a-zA-Z0-9]{9}$/);
  },
});

Deno.test({
  name: "deepseek: the reasoning before calls goes back with them, and to nobody else",
  ignore,
  async fn() {
    const call = {
      index: 0,
      id: "c1",
      type: "function",
      function: { name: "ls", arguments: "{}" },
    };
    await using server = serve([
      events(
        delta({ role: "assistant", reasoning_content: "first " }),
        delta({ reasoning_content: "look" }),
        delta({ tool_calls: [call] }),
        delta({}, "tool_calls", USAGE),
      ),
      events(delta({ content: "done" }, "stop", USAGE)),
      events(delta({ content: "done" }, "stop", USAGE)),
    ]);
    const first: Message = { role: "user", text: "hi" };
    const calls = callsIn(await answer(registry("deepseek", server.origin), "deepseek/m", [first]));
    const conversation: Message[] = [
      first,
      { role: "assistant", text: "", calls: [{ call_id: "c0", tool: "ls", args: {} }] },
      { role: "tool", results: [{ call_id: "c0", tool: "ls", ok: true, output: "a" }] },
      { role: "assistant", text: "", calls: JSON.parse(JSON.stringify(calls)) },
      { role: "tool", results: [{ call_id: "c1", tool: "ls", ok: true, output: "a" }] },
    ];
    await answer(registry("deepseek", server.origin), "deepseek/m", conversation);
    await answer(registry("groq", server.origin), "groq/m", conversation);
    const [, deepseek, groq] = server.asked.map(({ body }) => body.messages as Json[]);
    const said = (messages: Json[]) =>
      messages.filter(({ tool_calls }) => tool_calls).map((it) => it.reasoning_content);
    assertEquals(said(deepseek), ["", "first look"]);
    assertEquals(said(groq), [undefined, undefined]);
  },
});

Deno.test({
  name: "azure: the key has its own header, and an address without a path gets one",
  ignore,
  async fn() {
    const response = { id: "r", created_at: 1, model: "m" };
    const item = { type: "message", id: "i", role: "assistant", content: [] };
    await using server = serve([
      events(
        { type: "response.created", response },
        { type: "response.output_item.added", output_index: 0, item },
        {
          type: "response.output_text.delta",
          item_id: "i",
          output_index: 0,
          content_index: 0,
          delta: "so",
        },
        { type: "response.output_item.done", output_index: 0, item },
        {
          type: "response.completed",
          response: { ...response, usage: { input_tokens: 7, output_tokens: 3 } },
        },
      ),
      () =>
        Response.json({
          data: [
            { id: "gpt-5.1", capabilities: { chat_completion: true } },
            { id: "babel", capabilities: { chat_completion: false } },
          ],
        }),
    ]);
    const env = (name: string) =>
      ({ AZURE_OPENAI_API_KEY: KEY, AZURE_OPENAI_ENDPOINT: `${server.origin}/` })[name];
    const parts = {
      builtin: () => Promise.reject(new Error("unused")),
      agentProblem: () => undefined,
    };
    const from = new ModelRegistry({ models: {}, env, ...parts });
    const said = await answer(from, "azure/mine", [{ role: "user", text: "hi" }]);
    assertEquals(textIn(said, "text"), "so");
    assertEquals(await listModels(from.target("azure"), signal), [{
      name: "gpt-5.1",
      title: undefined,
    }]);
    assertEquals(server.asked.map(({ path }) => path), [
      "/openai/v1/responses",
      "/openai/v1/models",
    ]);
    for (const { headers } of server.asked) {
      assertEquals([headers.get("api-key"), headers.get("authorization")], [KEY, null]);
    }
    assertEquals(server.asked[0].body.model, "mine");

    const nowhere = new ModelRegistry({
      models: {},
      env: (name) => name === "AZURE_OPENAI_API_KEY" ? KEY : undefined,
      ...parts,
    });
    const refused = await nowhere.resolve("azure/mine").catch(({ message }) => message);
    assertEquals(
      refused,
      "azure has no address; set AZURE_OPENAI_ENDPOINT for the daemon, or base_url in [models.azure]",
    );
    const { providers } = await overview({
      registry: nowhere,
      known: () => ({ images: false }),
      catalogue: { source: "", license: "", date: "" },
    }, { ask: true, provider: "azure", signal });
    assertEquals(providers[0].problem, "has no address");
    assertStringIncludes(providers[0].hint!, "AZURE_OPENAI_ENDPOINT");
    const own = new ModelRegistry({
      models: { azure: { base_url: "https://acme.openai.azure.com" } },
      env: (name) => name === "AZURE_OPENAI_API_KEY" ? KEY : undefined,
      ...parts,
    }).target("azure");
    assertEquals([own.base_url, own.api_key], ["https://acme.openai.azure.com/openai/v1", KEY]);
  },
});

Deno.test({
  name: "together, mistral and GitHub Models list what writes text, each in its own form",
  ignore,
  async fn() {
    await using server = serve([
      () => Response.json([{ id: "a/chat", type: "chat" }, { id: "a/pic", type: "image" }]),
      () =>
        Response.json({
          data: [
            { id: "medium", capabilities: { completion_chat: true } },
            { id: "ocr", capabilities: { completion_chat: false } },
          ],
        }),
      () => Response.json([{ id: "openai/gpt-4.1", name: "OpenAI GPT-4.1", publisher: "OpenAI" }]),
      () => Response.json({ message: "Bad credentials" }, { status: 401 }),
    ]);
    const list = async (name: string, path: string) =>
      (await listModels(registry(name, server.origin + path).target(name), signal))
        .map((it) => it.name);
    assertEquals(await list("together", "/v1"), ["a/chat"]);
    assertEquals(await list("mistral", "/v1"), ["medium"]);
    assertEquals(await list("github-models", "/inference"), ["openai/gpt-4.1"]);
    const target = registry("github-models", `${server.origin}/inference`).target("github-models");
    const refused = await checkKey(target, signal).catch(({ message }) => message);
    assertStringIncludes(refused, "github-models answered 401: Bad credentials");
    assertEquals(server.asked.map(({ path }) => path), [
      "/v1/models",
      "/v1/models",
      "/catalog/models",
      "/catalog/models",
    ]);
  },
});

Deno.test("a table with kind has none of the preset's peculiarities", () => {
  const from = new ModelRegistry({
    models: { azure: { kind: "openai", base_url: "https://x.example/v1", api_key_env: "K" } },
    env: (name) => name === "K" ? KEY : undefined,
    builtin: () => Promise.reject(new Error("unused")),
    agentProblem: () => undefined,
  });
  const target = from.target("azure");
  assertEquals([target.known, target.quirks, target.api], [false, undefined, undefined]);
  assertEquals(headersOf(target), { authorization: `Bearer ${KEY}` });
});
