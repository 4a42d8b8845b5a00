import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { connect, event, follow, journalOf, keys, SESSION, Shared, STAMP } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();

function desktop(name: string, fn: () => void | Promise<void>) {
  row("contract", "4 desktop methods", name, fn);
}

const HASH = /^[0-9a-f]{64}$/;

/** A session that had a turn, and a client that follows it. */
async function used() {
  const { session_id, workdir } = await it.session({ approval: "auto" });
  const client = await connect(it);
  await follow(client, session_id);
  await client.turn(session_id, "run echo one");
  return { session_id, workdir, client };
}

desktop("session.start: session_id, workdir, started_at", async () => {
  await using client = await connect(it);
  const workdir = it.workdir();
  const got = await client.call("session.start", { workdir });
  assertEquals(keys(got), ["session_id", "started_at", "workdir"]);
  assertMatch(got.session_id, SESSION);
  assertMatch(got.started_at, STAMP);
  assertEquals(got.workdir, workdir);
});

desktop("session.start: prompt, model, provider, budget_usd, approval", async () => {
  await using client = await connect(it);
  const { session_id } = await client.call("session.start", {
    workdir: it.workdir(),
    prompt: "help",
    model: "toolbelt",
    provider: "builtin",
    budget_usd: 2,
    approval: "auto",
  });
  const got = await client.call("session.get", { session_id });
  assertEquals(
    [got.model, got.budget_usd, got.approval],
    ["builtin/toolbelt", 2, "auto"],
  );
  await follow(client, session_id);
  assertEquals((await event(client, "user.message")).data.text, "help");
  await event(client, "turn.completed");
});

desktop("session.start: provider without model is that provider's default model", async () => {
  await using client = await connect(it);
  const start = (provider: string) => ({ workdir: it.workdir(), provider });
  const { session_id } = await client.call("session.start", start("builtin"));
  assertEquals((await client.call("session.get", { session_id })).model, "builtin/toolbelt");
  const without_key = await client.fails("session.start", start("anthropic"));
  assertStringIncludes(without_key.message, "anthropic has no API key");
  const unknown = await client.fails("session.start", start("antropic"));
  assertStringIncludes(unknown.message, 'did you mean "anthropic/');
});

desktop("session.start: workdir may be left out only with a default_workdir", async () => {
  await using client = await connect(it);
  const { code, data } = await client.fails("session.start", {});
  assertEquals([code, data.svc_code], [-32001, "validation"]);
});

desktop("session.pause / session.resume: paused_at / resumed_at", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  const paused = await client.call("session.pause", { session_id });
  assertEquals(keys(paused), ["paused_at"]);
  assertMatch(paused.paused_at, STAMP);
  const resumed = await client.call("session.resume", { session_id });
  assertEquals(keys(resumed), ["resumed_at"]);
  assertMatch(resumed.resumed_at, STAMP);
});

desktop("ledger.list_events: events[{hash, type, at}], next_cursor?", async () => {
  const { session_id, client } = await used();
  await using _ = client;
  const all = await client.call("ledger.list_events", { session_id });
  assertEquals(
    all.events.map(({ type }: { type: string }) => type),
    client.events.map(({ type }) => type),
  );
  for (const each of all.events) {
    assertEquals(keys(each), ["at", "hash", "type"]);
    assertMatch(each.hash, HASH);
    assertMatch(each.at, STAMP);
  }
  assertEquals(keys(all).filter((key) => key !== "next_cursor"), ["events"]);
  // Page by page: the same.
  const paged = [];
  let cursor: string | undefined;
  do {
    const page = await client.call("ledger.list_events", { session_id, limit: 3, cursor });
    assert(page.events.length <= 3);
    paged.push(...page.events);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  assertEquals(paged, all.events);
});

desktop("ledger.list_events: since, limit (100, at most 1000), all sessions", async () => {
  const { session_id, client } = await used();
  await using _ = client;
  const all = (await client.call("ledger.list_events", { session_id })).events;
  const since = all.at(-1).at;
  const late = (await client.call("ledger.list_events", { session_id, since })).events;
  assert(late.length < all.length);
  for (const { at } of late) assert(at >= since);
  const future = "2999-01-01T00:00:00.000Z";
  assertEquals((await client.call("ledger.list_events", { session_id, since: future })).events, []);
  await client.call("ledger.list_events", { session_id, limit: 1000 });
  for (const limit of [0, 1001, -1, 1.5]) {
    assertEquals((await client.fails("ledger.list_events", { session_id, limit })).code, -32602);
  }
  for (let n = 0; n < 8; n++) await client.turn(session_id, "run echo two\nls");
  const { events, next_cursor } = await client.call("ledger.list_events", { session_id });
  assertEquals([events.length, typeof next_cursor], [100, "string"]);
  const hashes = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await client.call("ledger.list_events", { limit: 1000, cursor });
    for (const { hash } of page.events) hashes.add(hash);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  for (const { hash } of all) assert(hashes.has(hash), "an event is missing in the list of all");
});

desktop("ledger.get_node: hash, type, payload, edges[{to, kind}]", async () => {
  const { session_id, client } = await used();
  await using _ = client;
  const { events } = await client.call("ledger.list_events", { session_id });
  let before: string | undefined;
  for (const [n, { hash, type }] of events.entries()) {
    const node = await client.call("ledger.get_node", { hash });
    assertEquals(keys(node), ["edges", "hash", "payload", "type"]);
    assertEquals([node.hash, node.type], [hash, type]);
    for (const edge of node.edges) {
      assertEquals(keys(edge), ["kind", "to"]);
      assert(["prev", "cause"].includes(edge.kind), edge.kind);
      assertMatch(edge.to, HASH);
    }
    const prev = node.edges.filter(({ kind }: { kind: string }) => kind === "prev");
    assertEquals(prev.map(({ to }: { to: string }) => to), before === undefined ? [] : [before]);
    for (const [key, value] of Object.entries(client.events[n].data)) {
      const payload = node.payload.data ?? node.payload;
      assertEquals(payload[key], value, `${type} ${key}`);
    }
    before = hash;
  }
  const causes = await Promise.all(
    events.filter(({ type }: { type: string }) => type === "session.tool_completed").map((
      { hash }: { hash: string },
    ) => client.call("ledger.get_node", { hash })),
  );
  for (const { edges } of causes) {
    assert(
      edges.some(({ kind }: { kind: string }) => kind === "cause"),
      "a result without a cause",
    );
  }
});

desktop("the hash is the SHA-256 of (previous hash, record line)", async () => {
  const { session_id, workdir, client } = await used();
  await using _ = client;
  const { events } = await client.call("ledger.list_events", { session_id });
  const lines = Deno.readTextFileSync(journalOf(workdir, session_id)).trimEnd().split("\n");
  for (const [n, { hash }] of events.entries()) {
    if (n === 0) continue;
    const text = events[n - 1].hash + lines[n];
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0"));
    assertEquals(hex.join(""), hash, `record ${n + 1}`);
  }
});

desktop("cost.get_current: usd, tokens_in, tokens_out, as_of", async () => {
  const { session_id, client } = await used();
  await using _ = client;
  for (const params of [{ session_id }, {}]) {
    const got = await client.call("cost.get_current", params);
    assertEquals(keys(got), ["as_of", "tokens_in", "tokens_out", "usd"]);
    for (const key of ["usd", "tokens_in", "tokens_out"]) assertEquals(typeof got[key], "number");
    assertMatch(got.as_of, STAMP);
  }
});

desktop("cost.get_history: buckets[{at, usd, tokens}] by minute, hour, day", async () => {
  const { session_id, client } = await used();
  await using _ = client;
  for (const bucket of ["minute", "hour", "day", undefined]) {
    for (const since of [undefined, "2020-01-01T00:00:00.000Z"]) {
      const got = await client.call("cost.get_history", { session_id, bucket, since });
      assertEquals(keys(got), ["buckets"]);
      for (const each of got.buckets) assertEquals(keys(each), ["at", "tokens", "usd"]);
    }
  }
  assertEquals((await client.fails("cost.get_history", { bucket: "year" })).code, -32602);
  await client.call("cost.get_history");
});

desktop("descent.current_tier: an array, empty without criteria", async () => {
  const { session_id, client } = await used();
  await using _ = client;
  assertEquals(await client.call("descent.current_tier", { session_id }), []);
  assertEquals(await client.call("descent.current_tier", { session_id, ac_id: "ac-1" }), []);
});

desktop("descent.tier_history: ac_id, attempts, or not_found", async () => {
  const { session_id, client } = await used();
  await using _ = client;
  const { error, result } = await client.ask({
    method: "descent.tier_history",
    params: { session_id, ac_id: "ac-1" },
  });
  if (error) assertEquals(error.code, -32002);
  else assertEquals(result, { ac_id: "ac-1", attempts: [] });
  assertEquals((await client.fails("descent.tier_history", { session_id })).code, -32602);
});

desktop("memory.list_scopes: Session, Worker, AllSessions, Global, Always", async () => {
  await using client = await connect(it);
  const scopes = ["Session", "Worker", "AllSessions", "Global", "Always"];
  assertEquals(await client.call("memory.list_scopes"), { scopes });
});

desktop("memory.query: scope, key_prefix?, limit? → entries, truncated", async () => {
  await using client = await connect(it);
  const ids: string[] = [];
  for (const category of ["fact", "fact", "gotcha"]) {
    const entry = { content: `${category} ${ids.length}`, category, scope: "Global" };
    ids.push((await client.call("cortex.remember", entry)).entry_id);
  }
  const query = (params: Record<string, unknown>) =>
    client.call("memory.query", { scope: "Global", ...params });
  const facts = await query({ key_prefix: "fact/" });
  assertEquals(keys(facts), ["entries", "truncated"]);
  assertEquals(facts.entries.map(keys), Array(2).fill(["key", "updated_at", "value"]));
  assertEquals(facts.entries.map(({ key }: { key: string }) => key), [
    `fact/${ids[0]}`,
    `fact/${ids[1]}`,
  ]);
  assertEquals([facts.entries[1].value, facts.truncated], ["fact 1", false]);
  assertMatch(facts.entries[0].updated_at, STAMP);
  const some = await query({ limit: 2 });
  assertEquals([some.entries.length, some.truncated], [2, true]);
  assertEquals(await query({ scope: "Always" }), { entries: [], truncated: false });
  const { code } = await client.fails("memory.query", { scope: "Everyone" });
  assertEquals(code, -32602);
});
