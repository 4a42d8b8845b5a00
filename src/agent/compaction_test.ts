import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { newSession, reopened, TempDir } from "../../tests/support/sessions.ts";
import type { SessionParts } from "../session/session.ts";
import { compact } from "./compaction.ts";
import { tokensOf } from "./context.ts";
import { type Limits, limitsOf } from "../models/limits.ts";
import type { Model, ModelRequest } from "../models/model.ts";

const ignore = !granted("read", "write");

/** A model that answers the same to everything, and keeps what it was asked. */
function parrot(text: string): { model: Model; asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  const usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, tokens_cache_write: 0 };
  const model: Model = {
    id: "m/m",
    async *stream(request) {
      asked.push(request);
      yield await Promise.resolve({ type: "text" as const, text });
      yield { type: "finish", usage, reason: "stop" };
    },
  };
  return { model, asked };
}

/** How a session is compacted with that model. */
function compacting(model: Model, limits: Limits): Partial<SessionParts> {
  return {
    compact: (session, turn) =>
      compact({
        session,
        turn,
        model,
        limits,
        tools: [],
        cost: () => 0,
        new_lane_id: () => "lane_1",
      }, { reason: "limit" }),
  };
}

Deno.test({
  name: "a compaction of 1 M tokens of history reads the journal once",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const told = await newSession(path);
    const text = "some words ".repeat(4_000);
    const turn_id = "turn_1";
    await told.emit("turn.started", { turn_id, model: "m/m" });
    let tokens = 0;
    for (let n = 0; tokens < 1_000_000; n++, tokens += tokensOf(text)) {
      const message_id = `msg_${n}`;
      const { seq } = await told.emit("user.message", { message_id, text: `${n} ${text}` });
      const counts = { tokens_in: 0, tokens_out: 0, tokens_cached: 0 };
      await told.emit("cost.tick", { usd_delta: 0, ...counts, seen_seq: seq });
    }
    const usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };
    await told.emit("turn.completed", { turn_id, stop_reason: "ok", message: "", usage });
    told.journal.release();

    const { model, asked } = parrot("what was said");
    const limits = { context_tokens: 1_050_000, output_tokens: 32_000, compacts: true };
    const session = await reopened(path, compacting(model, limits));
    let reads = 0;
    const { journal } = session;
    const records = journal.records.bind(journal);
    journal.records = (since_seq) => {
      reads++;
      return records(since_seq);
    };
    const done = await session.compact();
    assert(done !== undefined);
    assertEquals([reads, asked.length, done.summary], [1, 1, "what was said"]);
    assertGreater(done.tokens_before, 1_000_000);
    assertLess(done.tokens_after, done.tokens_before / 2);
    journal.release();
  },
});

Deno.test("limits: the longest name that fits, resellers' names, daemon.toml, and unknown models", () => {
  const limits = (id: string, overrides = {}) => {
    const { context_tokens, output_tokens } = limitsOf(id, overrides);
    return [context_tokens, output_tokens];
  };
  assertEquals(limits("anthropic/claude-sonnet-4-5-20250929"), [200_000, 32_000]);
  assertEquals(limits("anthropic/claude-3-5-haiku"), [200_000, 8_192]);
  assertEquals(limits("openrouter/anthropic/claude-3.5-haiku"), [200_000, 8_192]);
  assertEquals(limits("openai/gpt-4o-2024-05-13"), [128_000, 4_096]);
  assertEquals(limits("ollama/qwen3-coder"), [32_768, 8_192]);
  assertEquals(limits("local/anything"), [128_000, 16_384]);
  assertEquals(limits("local/anything", { context_tokens: 32_000 }), [32_000, 8_000]);
  assertEquals(limits("local/anything", { output_tokens: 1_000 }), [128_000, 1_000]);
  assert(!limitsOf("builtin/toolbelt").compacts);
});
