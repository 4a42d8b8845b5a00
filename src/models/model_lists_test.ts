import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { ModelError } from "./model.ts";
import { checkKey, listModels } from "./model_lists.ts";
import { overview } from "./overview.ts";
import type { ProviderKind } from "./provider_address.ts";
import { ModelRegistry, type ProviderTarget } from "./registry.ts";

const ignore = !granted("net");
const KEY = "sk-the-right-key-of-the-lists";

/** The list endpoints of all providers on one server, each in its own format and with its own key. */
function lists() {
  const asked: string[] = [];
  const has = (key: string | null) => key === KEY || key === `Bearer ${KEY}`;
  const refused = (status: number, message: string) =>
    Response.json({ error: { message } }, { status });
  const answer = ({ url, headers }: Request): Response => {
    const { pathname, search } = new URL(url);
    asked.push(pathname + search);
    switch (pathname) {
      case "/anthropic/v1/models":
        if (headers.get("anthropic-version") === null) return refused(400, "no version");
        if (!has(headers.get("x-api-key"))) return refused(401, "invalid x-api-key");
        return Response.json({
          data: [{ type: "model", id: "claude-sonnet-4-5", display_name: "Claude Sonnet 4.5" }],
          has_more: false,
        });
      case "/openai/v1/models":
        if (!has(headers.get("authorization"))) {
          return refused(401, `Incorrect API key provided: ${headers.get("authorization")}`);
        }
        return Response.json({
          object: "list",
          data: ["whisper-1", "gpt-5.1", "text-embedding-3-small", "gpt-4o", "dall-e-3"]
            .map((id) => ({ id, object: "model", owned_by: "system" })),
        });
      case "/google/v1beta/models":
        if (!has(headers.get("x-goog-api-key"))) {
          return refused(400, "API key not valid. Please pass a valid API key.");
        }
        return Response.json({
          models: [
            ["gemini-2.5-pro", "generateContent"],
            ["text-004", "embedText"],
          ].map(([name, method]) => ({
            name: `models/${name}`,
            displayName: name === "gemini-2.5-pro" ? "Gemini 2.5 Pro" : name,
            supportedGenerationMethods: [method],
          })),
        });
      case "/api/tags":
        return Response.json({ models: [{ name: "llama3.3:latest", model: "llama3.3:latest" }] });
      case "/router/api/v1/models":
        return Response.json({ data: [{ id: "meta/llama-4", name: "Meta: Llama 4" }] });
      case "/router/api/v1/key":
        return has(headers.get("authorization"))
          ? Response.json({ data: { label: "k" } })
          : refused(401, "No auth credentials found");
      case "/page/v1/models":
        return new Response("<html>log in</html>");
      case "/odd/v1/models":
        return Response.json({ data: "none" });
      case "/away/v1/models":
        return new Response(null, { status: 302, headers: { location: "/openai/v1/models" } });
      default:
        return refused(404, "no such route");
    }
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    asked,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function target(
  kind: ProviderKind,
  base_url: string,
  given: Partial<ProviderTarget> = {},
): ProviderTarget {
  return { name: "it", kind, base_url, known: false, ...given };
}

const { signal } = new AbortController();

Deno.test({
  name: "each provider's list is read in its own format; what writes no text is left out",
  ignore,
  async fn() {
    await using server = lists();
    const { origin } = server;
    const key = { api_key: KEY };
    const names = async (of: ProviderTarget) => await listModels(of, signal);
    assertEquals(await names(target("anthropic", `${origin}/anthropic`, key)), [
      { name: "claude-sonnet-4-5", title: "Claude Sonnet 4.5" },
    ]);
    assertEquals(await names(target("openai", `${origin}/openai/v1`, key)), [
      { name: "gpt-4o", title: undefined },
      { name: "gpt-5.1", title: undefined },
    ]);
    assertEquals(await names(target("google", `${origin}/google`, key)), [
      { name: "gemini-2.5-pro", title: "Gemini 2.5 Pro" },
    ]);
    const tags = { name: "ollama", known: true };
    assertEquals(await names(target("openai-compatible", `${origin}/v1`, tags)), [
      { name: "llama3.3:latest", title: undefined },
    ]);
    assertEquals(await names(target("openai-compatible", `${origin}/router/api/v1`, key)), [
      { name: "meta/llama-4", title: "Meta: Llama 4" },
    ]);
    assertEquals(server.asked.slice(0, 2), [
      "/anthropic/v1/models?limit=1000",
      "/openai/v1/models",
    ]);
  },
});

Deno.test({
  name: "a wrong key is refused by each provider, and no message repeats it",
  ignore,
  async fn() {
    await using server = lists();
    const { origin } = server;
    const wrong = `${KEY}-but-wrong`;
    const router = { name: "openrouter", known: true };
    for (
      const [kind, path, more] of [
        ["anthropic", "/anthropic", {}],
        ["openai", "/openai/v1", {}],
        ["google", "/google", {}],
        ["openai-compatible", "/router/api/v1", router],
      ] as const
    ) {
      const of = (api_key: string) =>
        target(kind, origin + path, { api_key, key_source: "the key", ...more });
      await checkKey(of(KEY), signal);
      const error = await assertRejects(() => checkKey(of(wrong), signal), ModelError);
      assertEquals(error.message.includes(wrong), false, error.message);
      assertEquals(error.message.endsWith("Check the key"), true, error.message);
    }
  },
});

Deno.test({
  name: "an answer that is no list, a redirect and a silent port are told apart",
  ignore,
  async fn() {
    await using server = lists();
    const refusal = async (path: string, origin = server.origin) => {
      const of = target("openai-compatible", origin + path, { api_key: KEY });
      return (await assertRejects(() => listModels(of, signal), ModelError)).message;
    };
    assertEquals(await refusal("/page/v1"), "it did not answer with JSON");
    assertEquals(await refusal("/odd/v1"), "it did not answer with a list of models");
    assertEquals((await refusal("/away/v1")).includes("set base_url to it"), true);
    assertEquals(server.asked.includes("/openai/v1/models"), false, "the redirect is not followed");
    const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = free.addr;
    free.close();
    assertEquals(
      (await refusal("/v1", `http://127.0.0.1:${port}`)).startsWith("cannot reach"),
      true,
    );
  },
});

Deno.test({
  name: "the overview lists what can be used, and for the rest what to do",
  ignore,
  async fn() {
    await using server = lists();
    const { host } = new URL(server.origin);
    const registry = new ModelRegistry({
      models: {
        work: { kind: "openai", base_url: `${server.origin}/openai/v1`, api_key_env: "WORK_KEY" },
        down: { kind: "openai-compatible", base_url: `${server.origin}/none/v1` },
      },
      env: (name) => ({ WORK_KEY: KEY, OLLAMA_HOST: host })[name],
      default_model: "work/gpt-5.1",
      builtin: () => Promise.reject(new Error("unused")),
      agentProblem: () => undefined,
    });
    const known = (id: string) =>
      id === "work/gpt-5.1"
        ? {
          context_tokens: 400_000,
          output_tokens: 32_000,
          price: { input: 1, output: 2, cache_read: 0.1, cache_write: 1 },
          images: true,
        }
        : { images: false };
    const catalogue = { source: "test", license: "MIT", date: "2026-01-02" };
    const parts = { registry, known, catalogue };
    const found = await overview(parts, { ask: true, signal });
    const of = (name: string) => found.providers.find(({ provider }) => provider === name)!;
    assertEquals(found.default_model, "work/gpt-5.1");
    assertEquals(found.models.map(({ id }) => id).sort(), [
      "builtin/toolbelt",
      "ollama/llama3.3:latest",
      "work/gpt-4o",
      "work/gpt-5.1",
    ]);
    assertEquals(found.models.find((it) => it.default), {
      id: "work/gpt-5.1",
      default: true,
      context_tokens: 400_000,
      output_tokens: 32_000,
      price: { input: 1, output: 2, cache_read: 0.1, cache_write: 1 },
      images: true,
    });
    assertEquals(found.catalogue, catalogue);
    assertEquals(of("anthropic").problem, "has no API key");
    assertEquals(
      of("anthropic").hint,
      "run `svc login anthropic`, or set ANTHROPIC_API_KEY for the daemon",
    );
    assertEquals(of("down").problem?.startsWith("down answered 404"), true);
    assertEquals(of("work").problem, undefined);
    const before = server.asked.length;
    const unasked = await overview(parts, { ask: false, signal });
    assertEquals([unasked.models.length, server.asked.length], [2, before]);
    await assertRejects(
      () => overview(parts, { ask: false, provider: "wrok", signal }),
      Error,
      "work",
    );
  },
});
