import { assert, assertEquals, assertLess } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import type { ToolSpec } from "../models/model.ts";
import { measureCache, SYSTEM_PROMPT } from "./prefix.ts";
import type { ToolParts } from "./tool.ts";
import { builtinTools } from "./tools.ts";

const ignore = !granted("net");
const signal = new AbortController().signal;
const tools: ToolSpec[] = ["alpha", "beta", "gamma"].map((name) => ({
  name,
  description: `does ${name} and a few more words that make the prefix as long as a real one is, `
    .repeat(20),
  input_schema: { type: "object", properties: { path: { type: "string" } } },
}));

async function claude(url: string) {
  const { providerModel } = await import("../models/providers.ts");
  return await providerModel(
    { name: "claude", kind: "anthropic", base_url: url, api_key: "test-key-123" },
    "claude-sonnet-4-5",
  );
}

Deno.test({
  name: "five workers are served at least 80 % of a warmed prefix from the provider's cache",
  ignore,
  async fn() {
    const { startAnthropicServer } = await import("../../tests/support/model_servers.ts");
    await using server = disposable(await startAnthropicServer(() => ({ text: "ready" }), {}));
    const measure = await measureCache(await claude(server.url), tools, 5, signal);
    assertEquals(measure.workers.length, 5);
    assertEquals(measure.warm.tokens_cached, 0);
    assert(measure.hit_rate >= 0.8, `${measure.hit_rate}`);
  },
});

Deno.test({
  name: "tools in another order share nothing, and the measure says so",
  ignore,
  async fn() {
    const { startAnthropicServer } = await import("../../tests/support/model_servers.ts");
    await using server = disposable(await startAnthropicServer(() => ({ text: "ready" }), {}));
    const model = await claude(server.url);
    let call = 0;
    const shuffled = {
      ...model,
      stream: (request: Parameters<typeof model.stream>[0]) => {
        const turned = call++ % tools.length;
        const order = [...request.tools.slice(turned), ...request.tools.slice(0, turned)];
        return model.stream({ ...request, tools: order });
      },
    };
    assertLess((await measureCache(shuffled, tools, 2, signal)).hit_rate, 0.8);
  },
});

function disposable<T extends { close(): Promise<void> }>(server: T): T & AsyncDisposable {
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() });
}

Deno.test("the system prompt names no tool that is not there, and nothing of this machine", () => {
  const tools = builtinTools({} as ToolParts, []).map(({ spec }) => spec.name);
  const named = [...new Set(SYSTEM_PROMPT.match(/\b[a-z]+_[a-z]+\b/g))];
  assertEquals(named.filter((name) => !tools.includes(name)), []);
  assert(named.length >= 5);
  for (const own of [Deno.build.os, Deno.build.arch, String(new Date().getFullYear()), "/"]) {
    assert(!SYSTEM_PROMPT.includes(` ${own}`), own);
  }
});
