import { assertEquals } from "@std/assert";
import { Catalogue } from "./catalogue.ts";
import snapshot from "./catalogue_snapshot.json" with { type: "text" };
import type { Usage } from "./model.ts";
import { costUsd } from "./prices.ts";

function usage(parts: Partial<Usage>): Usage {
  return { tokens_in: 0, tokens_out: 0, tokens_cached: 0, tokens_cache_write: 0, ...parts };
}

const CATALOGUE = new Catalogue([JSON.parse(snapshot)]);
const MILLION = usage({ tokens_in: 1e6 });

Deno.test("input, output and both sides of the cache have their own price", () => {
  const spent = usage({
    tokens_in: 1_000_000,
    tokens_out: 100_000,
    tokens_cached: 700_000,
    tokens_cache_write: 200_000,
  });
  // 0.1 at 3, 0.7 at 0.3, 0.2 at 3.75, 0.1 at 15
  assertEquals(costUsd("anthropic/claude-sonnet-4-5", spent, CATALOGUE), {
    usd: 2.76,
    known: true,
  });
});

Deno.test("a dated id costs what its model costs", () => {
  for (const id of ["claude-sonnet-4-5-20250929", "claude-sonnet-4-6-20260201"]) {
    assertEquals(costUsd(`anthropic/${id}`, MILLION, CATALOGUE), { usd: 3, known: true });
  }
  assertEquals(costUsd("openai/gpt-5-2025-08-07", MILLION, CATALOGUE).usd, 1.25);
  assertEquals(costUsd("openai/gpt-5-mini-2025-08-07", MILLION, CATALOGUE).usd, 0.25);
});

Deno.test("the longest name counts", () => {
  assertEquals(costUsd("anthropic/claude-opus-4-5-20251101", MILLION, CATALOGUE).usd, 5);
  assertEquals(costUsd("openai/gpt-5-pro", MILLION, CATALOGUE).usd, 15);
  assertEquals(costUsd("openai/gpt-4o-2024-05-13", MILLION, CATALOGUE).usd, 5);
});

Deno.test("another model whose name begins alike is unknown, not cheap", () => {
  for (const id of ["openai/gpt-5-max", "anthropic/claude-opus-4-99", "work/claude-sonnet-4-5"]) {
    assertEquals(costUsd(id, MILLION, CATALOGUE), { usd: 0, known: false });
  }
});

Deno.test("what runs on this machine costs nothing, and that is known", () => {
  for (const id of ["builtin/toolbelt", "ollama/llama3.3"]) {
    assertEquals(costUsd(id, MILLION, CATALOGUE), { usd: 0, known: true });
  }
});

Deno.test("a long context has its own price for the whole call", () => {
  const long = usage({ tokens_in: 400_000, tokens_out: 1000 });
  assertEquals(costUsd("google/gemini-2.5-pro", long, CATALOGUE).usd, 1.015);
  assertEquals(
    costUsd("google/gemini-2.5-pro", usage({ tokens_in: 200_000 }), CATALOGUE).usd,
    0.25,
  );
});

Deno.test("overrides come before the catalogue", () => {
  const price = { input: 1, output: 2, cache_read: 0, cache_write: 0 };
  const overrides = { "work/llama": price, "anthropic/claude-sonnet-4-5": price };
  assertEquals(costUsd("work/llama", MILLION, CATALOGUE, overrides), { usd: 1, known: true });
  assertEquals(
    costUsd("anthropic/claude-sonnet-4-5-20250929", MILLION, CATALOGUE, overrides).usd,
    1,
  );
});
