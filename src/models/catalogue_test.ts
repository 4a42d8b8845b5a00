import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { Catalogue, type CatalogueData } from "./catalogue.ts";
import { CatalogueFile } from "./catalogue_file.ts";
import { catalogueSchema } from "./catalogue_schema.ts";
import snapshot from "./catalogue_snapshot.json" with { type: "text" };
import { nearestEffort } from "./effort_levels.ts";
import { knownLimits, limitsOf } from "./limits.ts";
import { PRESETS } from "./presets.ts";
import { ModelRegistry, type ModelRegistryOptions } from "./registry.ts";

const BUILT_IN: CatalogueData = JSON.parse(snapshot);
const CATALOGUE = new Catalogue([BUILT_IN]);
const ignore = !granted("read", "write");

function registry(options: Partial<ModelRegistryOptions>): ModelRegistry {
  return new ModelRegistry({
    models: {},
    env: () => undefined,
    catalogue: () => CATALOGUE,
    builtin: () => Promise.reject(new Error("unused")),
    agentProblem: () => undefined,
    ...options,
  });
}

function data(date: string, models: CatalogueData["providers"][string]): CatalogueData {
  return { source: "test", license: "MIT", date, providers: { openai: models } };
}

Deno.test("the built-in catalogue is valid, has its source, and no price that it does not know", () => {
  const { source, license, providers } = catalogueSchema().parse(BUILT_IN);
  assert(source.includes("models.dev") && license.includes("MIT"));
  for (const [provider, models] of Object.entries(providers)) {
    for (const [id, { price }] of Object.entries(models)) {
      if (price === undefined || id.endsWith(":free")) continue;
      assert(price.input + price.output > 0, `${provider}/${id} has a price of 0`);
    }
  }
});

Deno.test("every default model is in the catalogue, with a price", () => {
  for (const [name, { model }] of Object.entries(PRESETS)) {
    if (model === undefined) continue;
    const facts = CATALOGUE.facts(`${name}/${model}`);
    assert(facts?.price !== undefined && facts.context_tokens !== undefined, `${name}/${model}`);
  }
});

Deno.test("a newer catalogue adds to the older one, in whatever order they come", () => {
  const older = data("2026-01-01", {
    a: { context_tokens: 1, efforts: ["low"] },
    b: { context_tokens: 2 },
  });
  const newer = data("2026-02-01", { a: { context_tokens: 9 } });
  for (const layers of [[older, newer], [newer, older]]) {
    const both = new Catalogue(layers);
    assertEquals(both.about.date, "2026-02-01");
    assertEquals(both.facts("openai/a"), { context_tokens: 9, efforts: ["low"] });
    assertEquals(both.facts("openai/a-2026-02-02")?.context_tokens, 9);
    assertEquals(both.facts("openai/b"), { context_tokens: 2 });
    assertEquals(both.facts("openai/c"), undefined);
    assertEquals(both.facts("openai/constructor"), undefined);
    assertEquals(both.facts("__proto__/a"), undefined);
  }
});

Deno.test("limits come from the catalogue, then from the name; daemon.toml beats both", () => {
  const models = {
    openai: {
      context_tokens: 100_000,
      models: { "gpt-5.1": { context_tokens: 50_000, efforts: ["low" as const], images: false } },
    },
    gate: { kind: "openai-compatible" as const, base_url: "http://127.0.0.1:9/v1" },
  };
  const plain = registry({});
  const limits = (from: ModelRegistry, id: string) => {
    const { overrides, facts } = from.describe(id);
    return knownLimits(id, overrides, facts);
  };
  assertEquals(limits(plain, "openai/gpt-5.1")?.context_tokens, 400_000);
  assertEquals(limits(plain, "openrouter/anthropic/claude-sonnet-4.5")?.output_tokens, 32_000);
  assertEquals(limits(plain, "anthropic/claude-3-5-haiku")?.output_tokens, 8_192);
  assertEquals(limits(plain, "ollama/gpt-5.1")?.context_tokens, 32_768);
  assertEquals(limits(plain, "openai/nobody-knows"), undefined);
  assertEquals(limitsOf("openai/nobody-knows").context_tokens, 128_000);
  const set = registry({ models });
  assertEquals(limits(set, "openai/gpt-5.1")?.context_tokens, 50_000);
  assertEquals(limits(set, "openai/gpt-5.2")?.context_tokens, 100_000);
  assertEquals(set.describe("openai/gpt-5.1").images, false);
  assertEquals(set.describe("openai/gpt-5.2").images, true);
  assertEquals(set.describe("openai/gpt-5.1").overrides.efforts, ["low"]);
  // A gateway's model has the limits of its maker; whether it sees there, and its price, are unknown.
  const { facts, images } = set.describe("gate/claude-haiku-4.5");
  assertEquals([facts, images], [{ context_tokens: 200_000, output_tokens: 64_000 }, false]);
});

Deno.test("a table without kind changes the provider of its name, and keeps its key from others", () => {
  const env = (name: string) => name === "OPENROUTER_API_KEY" ? "key" : undefined;
  const changed = registry({ env, models: { openrouter: { context_tokens: 10_000 } } });
  const { base_url, api_key, known, tokens } = changed.target("openrouter");
  assertEquals([base_url, api_key, known], ["https://openrouter.ai/api/v1", "key", true]);
  assertEquals(tokens?.context_tokens, 10_000);
  const moved = registry({ env, models: { openrouter: { base_url: "https://other.example/v1" } } });
  const there = moved.target("openrouter");
  assertEquals([there.base_url, there.api_key, there.known], [
    "https://other.example/v1",
    undefined,
    true,
  ]);
});

Deno.test("the effort is the nearest that a model knows, of two the shorter, or none at all", () => {
  assertEquals(nearestEffort("xhigh", ["none", "low", "high"]), "high");
  assertEquals(nearestEffort("none", ["minimal", "low"]), "minimal");
  assertEquals(nearestEffort("medium", ["high", "low"]), "low");
  assertEquals(nearestEffort("high", []), undefined);
  assertEquals(nearestEffort("high", undefined), "high");
  assertEquals(nearestEffort(undefined, ["high"]), undefined);
});

Deno.test({
  name: "a downloaded catalogue is used once it is there; one that is damaged or not ours is not",
  ignore,
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      const path = join(dir, "catalogue.json");
      const file = new CatalogueFile(path);
      const built_in = await file.get();
      assertEquals(built_in.about.date, BUILT_IN.date);
      assert(await file.get() === built_in, "it is read again for nothing");
      const write = (content: unknown, mode = 0o600) => {
        Deno.writeTextFileSync(path, JSON.stringify(content));
        Deno.chmodSync(path, mode);
      };
      write(data("2099-01-01", { "gpt-9": { context_tokens: 7_000 } }));
      const newer = await file.get();
      assertEquals([newer.about.date, newer.problem], ["2099-01-01", undefined]);
      assertEquals(newer.facts("openai/gpt-9")?.context_tokens, 7_000);
      assertEquals(newer.facts("openai/gpt-5.1")?.context_tokens, 400_000);
      const bad = [
        { ...data("2099-01-01", {}), date: "soon" },
        data("2099-01-01", { "gpt-9": { context_tokens: -1 } }),
        data("2099-01-01", { "gpt-9": { context_tokens: 1e300 } }),
        data("2099-01-01", {
          "gpt-9": { price: { input: -5, output: 1, cache_read: 0, cache_write: 0 } },
        }),
        [],
      ];
      for (const content of bad) {
        write(content);
        const used = await file.get();
        assertEquals([used.about.date, used.problem?.includes("damaged")], [BUILT_IN.date, true]);
      }
      write(data("2099-01-01", {}), 0o666);
      assertEquals((await file.get()).problem?.includes("has mode 0666"), true);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
