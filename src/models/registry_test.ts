import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { SvcError } from "../protocol/errors.ts";
import type { SavedKey } from "./key_file.ts";
import type { Model } from "./model.ts";
import { ModelRegistry, type ModelRegistryOptions, UnknownModel } from "./registry.ts";
import { scriptSteps, startOpenAiServer } from "../../tests/support/model_servers.ts";
import { granted } from "../../tests/support/permissions.ts";

const BUILTIN: Model = { id: "builtin/toolbelt", stream: () => emptyStream() };

async function* emptyStream() {}

function registry(
  env: Record<string, string> = {},
  options: Partial<ModelRegistryOptions> = {},
): ModelRegistry {
  return new ModelRegistry({
    models: {},
    env: (name) => env[name],
    builtin: () => BUILTIN,
    agentProblem: () => undefined,
    ...options,
  });
}

async function refusal(from: ModelRegistry, id: string): Promise<string> {
  return (await assertRejects(() => from.resolve(id), UnknownModel)).message;
}

Deno.test("without a key the embedded model is the default", async () => {
  assertEquals(registry().defaultId(), "builtin/toolbelt");
  assertStrictEquals(await registry().resolve("builtin/toolbelt"), BUILTIN);
});

Deno.test("a provider alone stands for its default model", () => {
  const models = {
    local: { kind: "openai-compatible" as const, base_url: "http://127.0.0.1:9/v1" },
    google: { kind: "google" as const, base_url: "http://127.0.0.1:9/v1" },
  };
  const plain = registry({}, { models });
  assertMatch(plain.defaultIdOf("anthropic"), /^anthropic\/claude/);
  assertMatch(plain.defaultIdOf("openai"), /^openai\/gpt/);
  assertEquals(plain.defaultIdOf("builtin"), "builtin/toolbelt");
  for (const provider of ["local", "ollama", "google"]) {
    assertThrows(() => plain.defaultIdOf(provider), UnknownModel, "has no default model");
  }
  assertThrows(() => plain.defaultIdOf("antropic"), UnknownModel, 'did you mean "anthropic/');
  const set = registry({}, { models, default_model: "local/m" });
  assertEquals(set.defaultIdOf("local"), "local/m");
  assertMatch(set.defaultIdOf("openai"), /^openai\/gpt/);
});

Deno.test("the default is of the first provider with a credential", () => {
  const keys = {
    OPENROUTER_API_KEY: "k",
    GEMINI_API_KEY: "k",
    OPENAI_API_KEY: "k",
    ANTHROPIC_API_KEY: "k",
  };
  const defaults: string[] = [];
  const left: Record<string, string> = { ...keys };
  for (const name of Object.keys(keys).reverse()) {
    defaults.push(registry(left).defaultId());
    delete left[name];
  }
  assertEquals(defaults.map((id) => id.split("/")[0]), [
    "anthropic",
    "openai",
    "google",
    "openrouter",
  ]);
  assertEquals(defaults[0], "anthropic/claude-sonnet-4-5");
  assertEquals(registry({ GOOGLE_GENERATIVE_AI_API_KEY: "k" }).defaultId().split("/")[0], "google");
});

Deno.test("default_model comes before any credential", () => {
  const options = { default_model: "local/llama" };
  assertEquals(registry({ ANTHROPIC_API_KEY: "k" }, options).defaultId(), "local/llama");
});

Deno.test("an empty key counts as none", async () => {
  const empty = registry({ ANTHROPIC_API_KEY: " \n" });
  assertEquals(empty.defaultId(), "builtin/toolbelt");
  assertMatch(await refusal(empty, "anthropic/claude-sonnet-4-5"), /set ANTHROPIC_API_KEY/);
});

Deno.test("every provider is listed with whether it can be called", () => {
  const listed = registry({ OPENAI_API_KEY: "k" }, {
    models: {
      local: { kind: "openai-compatible", base_url: "http://127.0.0.1:8080/v1" },
      work: { kind: "anthropic", base_url: "http://gateway/", api_key_env: "WORK_KEY" },
    },
  }).list();
  assertEquals(listed, [
    { provider: "anthropic", kind: "anthropic", configured: false },
    { provider: "openai", kind: "openai", configured: true },
    { provider: "google", kind: "google", configured: false },
    ...["openrouter", "xai", "mistral", "deepseek", "groq", "together", "fireworks"].map((
      provider,
    ) => ({ provider, kind: "openai-compatible" as const, configured: false })),
    { provider: "azure", kind: "openai", configured: false },
    { provider: "github-models", kind: "openai-compatible", configured: false },
    { provider: "ollama", kind: "openai-compatible", configured: true },
    { provider: "lmstudio", kind: "openai-compatible", configured: true },
    { provider: "local", kind: "openai-compatible", configured: true },
    { provider: "work", kind: "anthropic", configured: false },
    { provider: "builtin", kind: "builtin", configured: true },
  ]);
});

Deno.test("a saved key counts, the environment's comes first, and each is told", async () => {
  const saved: Record<string, SavedKey> = {
    openai: { api_key: "sk-saved", base_url: "https://api.openai.com/v1" },
  };
  const told: string[] = [];
  const keys = { get: (name: string) => saved[name] };
  const onKey = (key: string) => void told.push(key);
  const from = registry({}, { keys, onKey });
  assertEquals(from.defaultId().split("/")[0], "openai");
  assertEquals([from.target("openai").api_key, from.target("openai").key_source], [
    "sk-saved",
    "the key; `svc login openai` replaces it",
  ]);
  assertEquals(new Set(told), new Set(["sk-saved"]));
  const both = registry({ OPENAI_API_KEY: "sk-env" }, { keys, onKey });
  assertEquals(both.target("openai").api_key, "sk-env");
  assertEquals(told.at(-1), "sk-env");
  const found = (of: ModelRegistry) =>
    of.details().find(({ provider }) => provider === "openai")?.key_from;
  assertEquals([found(from), found(both), found(registry())], ["login", "environment", undefined]);
  // The next request has the next key, and none has one that was removed.
  saved.openai = { ...saved.openai, api_key: "sk-next" };
  assertEquals(from.target("openai").api_key, "sk-next");
  delete saved.openai;
  assertMatch(await refusal(from, "openai/gpt-5"), /run `svc login openai`, or set OPENAI_API_KEY/);
});

Deno.test("a saved key goes only to the address that it was saved for", async () => {
  const keys = { get: () => ({ api_key: "sk-saved", base_url: "https://api.openai.com/v1" }) };
  assertEquals(registry({}, { keys }).target("openai").api_key, "sk-saved");
  const elsewhere = registry({ OPENAI_BASE_URL: "https://gateway.example/v1" }, { keys });
  assertMatch(
    await refusal(elsewhere, "openai/gpt-5"),
    /saved key of openai is for https:\/\/api\.openai\.com\/v1, not for https:\/\/gateway\.example/,
  );
  const models = { openai: { kind: "openai" as const, base_url: "http://other.example/v1" } };
  assertEquals(registry({}, { keys, models }).target("openai").api_key, undefined);
});

Deno.test("a key file that cannot be trusted is reported where a key is needed", async () => {
  const keys = {
    get(): never {
      throw new SvcError("permission_denied", "keys.json has mode 0644", { hint: "chmod 0600" });
    },
  };
  const from = registry({}, { keys });
  assertMatch(await refusal(from, "openai/gpt-5"), /^keys\.json has mode 0644; chmod 0600\./);
  assertEquals(from.defaultId(), "builtin/toolbelt");
  assertEquals(registry({ OPENAI_API_KEY: "k" }, { keys }).target("openai").api_key, "k");
});

Deno.test("an id that leads nowhere is answered with the nearest and the way on", async () => {
  const one = registry({ OPENAI_API_KEY: "k" });
  assertMatch(await refusal(one, "claude-sonet-4-5"), /mean "anthropic\/claude-sonnet-4-5"\?/);
  assertMatch(await refusal(one, "toolbelt"), /mean "builtin\/toolbelt"\?/);
  assertMatch(await refusal(one, "opnai/gpt-5"), /mean "openai\/gpt-5"\?/);
  assertMatch(
    await refusal(one, "zzz/x"),
    /^unknown model provider "zzz"\. Configured: openai/,
  );
  assertMatch(await refusal(one, "google/gemini-2.5-pro"), /set GEMINI_API_KEY or GOOGLE_GEN/);
  for (const id of ["", "/", "x/", "/x", "constructor/x", "builtin/other", "__proto__/x"]) {
    assertMatch(await refusal(one, id), /\[models\.<name>\] section/);
  }
});

Deno.test({
  name: "a [models.<name>] entry is called at its address with the key of its variable",
  ignore: !granted("net"),
  fn: async () => {
    const server = startOpenAiServer(scriptSteps([{ text: "fine" }]), { api_key: "local-key" });
    try {
      const models = {
        local: {
          kind: "openai-compatible" as const,
          base_url: server.url,
          api_key_env: "LOCAL_KEY",
        },
      };
      assertMatch(await refusal(registry({}, { models }), "local/llama"), /set LOCAL_KEY/);
      const model = await registry({ LOCAL_KEY: "local-key\n" }, { models })
        .resolve("local/meta/llama");
      assertEquals(model.id, "local/meta/llama");
      const parts = await Array.fromAsync(model.stream({
        system: "",
        messages: [{ role: "user", text: "x" }],
        tools: [],
        signal: new AbortController().signal,
      }));
      assertEquals(parts.length, 2);
      assertEquals(server.requests[0].body.model, "meta/llama");
    } finally {
      await server.close();
    }
  },
});

Deno.test({
  name: "the provider's own key is not sent to another address",
  ignore: !granted("net"),
  fn: async () => {
    const server = startOpenAiServer(() => ({ text: "fine" }), { open: true });
    try {
      const models = { gateway: { kind: "openai" as const, base_url: server.url } };
      const model = await registry({ OPENAI_API_KEY: "sk-own" }, { models }).resolve("gateway/m");
      await Array.fromAsync(model.stream({
        system: "",
        messages: [{ role: "user", text: "x" }],
        tools: [],
        signal: new AbortController().signal,
      }));
      assertEquals(server.requests[0].headers.get("authorization"), null);
    } finally {
      await server.close();
    }
  },
});

Deno.test({
  name: "Ollama is found where OLLAMA_HOST says",
  ignore: !granted("net"),
  fn: async () => {
    const server = startOpenAiServer(() => ({ text: "fine" }), { open: true });
    try {
      const { port } = new URL(server.url);
      for (const host of [`127.0.0.1:${port}`, `http://0.0.0.0:${port}/`, `:${port}`]) {
        const model = await registry({ OLLAMA_HOST: host }).resolve("ollama/llama3.3:70b");
        const parts = await Array.fromAsync(model.stream({
          system: "",
          messages: [{ role: "user", text: "x" }],
          tools: [],
          signal: new AbortController().signal,
        }));
        assertEquals(parts[0], { type: "text", text: "fine" });
      }
    } finally {
      await server.close();
    }
  },
});

Deno.test("an agent has sessions, and is refused where single requests are asked of a model", async () => {
  const models = registry();
  models.check("acp/agent");
  assertThrows(() => models.checkForRequests("acp/agent"), UnknownModel, "acp/agent is an agent");
  assertMatch(await refusal(models, "acp/agent"), /^acp\/agent is an agent/);
  models.checkForRequests("builtin/toolbelt");
});
