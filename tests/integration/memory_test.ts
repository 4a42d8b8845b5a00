import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { exists } from "../../src/os/files.ts";
import { PROVIDERS, Scenario } from "../support/scripted.ts";
import { Random } from "../support/random.ts";
import { can_run_svc, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc;

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}

/** Starts a session of the embedded model. */
function start(client: TestClient, workdir: string, params: Record<string, unknown> = {}) {
  return client.session({ workdir, model: "builtin/toolbelt", approval: "auto", ...params });
}

/** Sends instructions and gives what came of them. */
async function told(client: TestClient, session_id: string, text: string): Promise<string> {
  return (await client.turn(session_id, text)).data.message;
}

/** What a call fails with. */
function failure(client: TestClient, method: string, params: unknown): Promise<SvcError> {
  return assertRejects(() => client.rpc.call(method, params)) as Promise<SvcError>;
}

Deno.test({
  name: "an entry is changed, and who sees it; so it stays after a kill",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const workdir = place.mkdir("one");
    let entry_id: string;
    {
      await using client = await daemon.rpc();
      const session_id = await start(client, workdir);
      await told(client, session_id, "remember The dromedary sleeps at noon");
      [{ entry_id }] = (await client.rpc.call("cortex.list")).entries;
      const changed = await client.rpc.call("cortex.update", {
        entry_id,
        content: "The camel wakes at dawn",
        scope: "Worker",
        session_id,
      });
      assertEquals([changed.scope, changed.owner], ["Worker", workdir]);
      const { records } = await client.rpc.call("cortex.audit");
      assertEquals(records.map((it: { entry_id: string }) => it.entry_id), [entry_id, entry_id]);
      assertEquals(
        [records[1].source_msg_id, records[1].content_sha],
        ["edited", await sha256("The camel wakes at dawn")],
      );
      const nobodys = await failure(client, "cortex.update", { entry_id, scope: "Session" });
      assertEquals(nobodys.code, "validation");
    }
    await daemon.kill();
    daemon = await place.serve();
    await using client = await daemon.rpc();
    const beside = await start(client, workdir);
    assertStringIncludes(await told(client, beside, "recall camel"), "wakes at dawn");
    const elsewhere = await start(client, place.mkdir("two"));
    for (const words of ["camel", "dromedary"]) {
      const answer = await told(client, elsewhere, `recall ${words}`);
      assertEquals(answer, "the memory has nothing about that");
    }
  },
});

Deno.test({
  name: "what a session remembers of its project stays there, also over a restart",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const workdir = place.mkdir("one");
    {
      await using client = await daemon.rpc();
      const writer = await start(client, workdir);
      const done = await told(client, writer, "remember The app deploys with make ship");
      assertStringIncludes(done, "remembered as fact for Worker");
      const entry = { content: "Deploy on Mondays", category: "gotcha", session_id: writer };
      await client.rpc.call("cortex.remember", entry);
    }
    await daemon.kill();
    daemon = await place.serve();
    await using client = await daemon.rpc();
    const beside = await told(client, await start(client, workdir), "recall deploying");
    assertStringIncludes(beside, "make ship");
    assertStringIncludes(beside, "Mondays");
    const elsewhere = await start(client, place.mkdir("two"));
    assertEquals(
      await told(client, elsewhere, "recall deploying"),
      "the memory has nothing about that",
    );
  },
});

Deno.test({
  name: "what one session remembers another recalls by its meaning, until it is forgotten",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const content = "The app deploys with make ship";
    const workdir = place.mkdir("one");
    {
      await using client = await daemon.rpc();
      const writer = await start(client, workdir);
      const done = await told(client, writer, `remember preference: ${content}`);
      assertStringIncludes(done, "remembered as preference for AllSessions");
      const written = client.of("memory.written")[0].data;
      assertEquals(written.content_sha, await sha256(content));
      const asked = client.of("user.message")[0].data.message_id;
      const { records: [record] } = await client.rpc.call("cortex.audit", {});
      assertEquals(Object.keys(record), [
        "ts",
        "entry_id",
        "category",
        "content_sha",
        "source_msg_id",
      ]);
      assertEquals(record.entry_id, written.entry_id);
      assertEquals([record.content_sha, record.source_msg_id], [written.content_sha, asked]);
    }
    await daemon.kill();
    daemon = await place.serve();
    await using client = await daemon.rpc();
    const reader = await start(client, place.mkdir("two"), { approval: "read_only" });
    assertStringIncludes(await told(client, reader, "recall deploying"), content);
    assertStringIncludes(await told(client, reader, "remember no"), "refused");
    const { entries: [entry] } = await client.rpc.call("cortex.recall", { query: "deployment" });
    assertEquals([entry.content, entry.scope, entry.score], [content, "AllSessions", 1]);
    const listed = await client.rpc.call("memory.query", {
      scope: "AllSessions",
      key_prefix: "preference/",
    });
    assertEquals(listed.entries[0].key, `preference/${entry.entry_id}`);
    assertEquals([listed.entries[0].value, listed.truncated], [content, false]);
    await client.rpc.call("cortex.forget", { entry_id: entry.entry_id });
    assertEquals(
      await told(client, reader, "recall deploying"),
      "the memory has nothing about that",
    );
    const again = await failure(client, "cortex.forget", { entry_id: entry.entry_id });
    assertEquals(again.code, "not_found");
  },
});

Deno.test({
  name: "a session that asks is asked about all but facts, and the answer holds for the category",
  ignore,
  async fn() {
    await using place = new Place();
    await using client = await (await place.serve()).rpc();
    const session_id = await start(client, place.mkdir("w"), { approval: "ask" });
    assertStringIncludes(await told(client, session_id, "remember a fact"), "remembered as fact");
    const turn = told(client, session_id, "remember gotcha: the tests want docker");
    const { data } = await client.wait(({ type }) => type === "approval.requested");
    assertEquals([data.tool, data.args.category], ["remember", "gotcha"]);
    const decision = { session_id, approval_id: data.approval_id, decision: "allow_always" };
    await client.rpc.call("session.approve", decision);
    assertStringIncludes(await turn, "remembered as gotcha");
    assertStringIncludes(await told(client, session_id, "remember gotcha: and a VPN"), "gotcha");
    assertEquals(client.of("approval.requested").length, 1);
    const secret = await told(client, session_id, `remember the key is sk-${"x1".repeat(12)}`);
    assertStringIncludes(secret, "looks like an API key");
  },
});

for (const approval of ["ask", "auto"]) {
  for (const scope of ["Global", "Always"]) {
    Deno.test({
      name: `what a model remembers for ${scope} waits for the person, in approval ${approval} too`,
      ignore,
      async fn() {
        const entry = { content: "the oracle is right", category: "fact", scope };
        const call = (id: string) => ({ calls: [{ id, name: "remember", args: entry }] });
        const steps = [call("c1"), { text: "one" }, call("c2"), { text: "two" }, { text: "three" }];
        await using it = await Scenario.begin(steps, { start: { approval } });
        const hired = await it.client.session({
          workdir: it.place.mkdir("hired"),
          model: it.model,
          trust: "untrusted",
        });
        const seen = async () => {
          const found = await it.call("cortex.recall", { query: "oracle", session_id: hired });
          return found.entries.map((each: Record<string, unknown>) => each.written_by);
        };
        for (const [nth, decision] of ["deny", "allow"].entries()) {
          const turn = it.turn("go");
          const { data } = await it.event(
            "approval.requested",
            ({ data }) => data.call_id === `c${nth + 1}`,
          );
          assertMatch(data.reason, /also visible to hired work.*: the oracle is right$/);
          assertEquals(await seen(), []);
          const { approval_id } = data;
          await it.call("session.approve", { approval_id, decision });
          await turn;
        }
        assertEquals(await seen(), [it.session_id]);
      },
    });
  }
}

Deno.test({
  name: "a client remembers in any category without an audit record, for the session it names",
  ignore,
  async fn() {
    await using place = new Place();
    await using client = await (await place.serve()).rpc();
    const one = await start(client, place.mkdir("one"));
    const two = await start(client, place.mkdir("two"));
    const remember = (params: Record<string, unknown>) =>
      client.rpc.call("cortex.remember", { category: "gotcha", ...params });
    await remember({ content: "the port is 1", scope: "Session", session_id: one });
    await remember({ content: "the port is 2", scope: "Worker", session_id: one });
    await remember({ content: "the port is 3" });
    const seen = async (session_id: string) => {
      const found = await client.rpc.call("cortex.recall", { query: "ports", session_id });
      return found.entries.map(({ scope }: { scope: string }) => scope).sort();
    };
    assertEquals(await seen(one), ["AllSessions", "Session", "Worker"]);
    assertEquals(await seen(two), ["AllSessions"]);
    const hired = await start(client, place.mkdir("three"), { trust: "untrusted" });
    assertEquals(await seen(hired), []);
    await remember({ content: "the port is 4", scope: "Global" });
    assertEquals(await seen(hired), ["Global"]);
    assertStringIncludes(await told(client, hired, "remember ports are hired"), "for Session");
    const unowned = await failure(client, "cortex.remember", {
      content: "x",
      category: "fact",
      scope: "Worker",
    });
    assertEquals(unowned.code, "validation");
    assertEquals((await client.rpc.call("cortex.audit", {})).records.length, 1);
    const writers = client.of("memory.written").map(({ session_id }) => session_id);
    assertEquals(writers, [one, one, hired]);
  },
});

for (const provider of PROVIDERS) {
  Deno.test({
    name:
      `${provider}: a prompt has what is remembered about it, once, and the same after a restart`,
    ignore,
    async fn() {
      await using it = await Scenario.begin(() => ({ text: "An answer." }), { provider });
      const remember = { content: "The app deploys with make ship", category: "fact" };
      const { entry_id } = await it.client.rpc.call("cortex.remember", remember);
      await it.client.rpc.call("cortex.remember", {
        content: "Answer in French",
        category: "preference",
        scope: "Always",
      });
      const { data } = await it.turn("How do we do a deployment?");
      assertEquals(data.stop_reason, "ok");
      const recalled = it.client.of("memory.recalled");
      assertEquals(recalled.length, 1);
      assertEquals(recalled[0].data.turn_id, data.turn_id);
      const { entries, text } = recalled[0].data;
      assertEquals(entries.length, 2);
      assertEquals(entries[1], { entry_id, category: "fact", scope: "AllSessions" });
      assertEquals(it.asked[0], [{
        role: "user",
        text: `${text}\n\nHow do we do a deployment?`,
      }]);
      await it.turn("And deploying on Mondays?");
      assertEquals(it.client.of("memory.recalled").length, 1);
      await it.daemon.stop();
      const daemon = await it.place.serve();
      await using client = await daemon.rpc();
      const { session_id } = it;
      await client.rpc.call("session.subscribe", { session_id });
      await client.turn(session_id, "Go on");
      assertEquals(it.asked[2].slice(0, it.asked[1].length), it.asked[1]);
      const { messages } = await client.rpc.call("session.transcript", { session_id });
      assertEquals(messages[0], { role: "user", text: "How do we do a deployment?", memory: text });
    },
  });
}

Deno.test({
  name: "where nothing was ever remembered there is no event and no database, nor after a pause",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "An answer." }));
    await it.turn("How do we do a deployment?");
    await it.client.rpc.call("cortex.recall", { query: "deployment" });
    await it.client.rpc.call("cortex.lobes_list", {});
    assert(!it.types().includes("memory.recalled"));
    assertEquals(exists(join(it.place.home, "state.db")), false);
    await it.client.rpc.call("cortex.remember", { content: "Deploy twice", category: "fact" });
    await it.client.rpc.call("cortex.lobe_pause", { lobe: "recaller" });
    await it.turn("How do we deploy?");
    assert(!it.types().includes("memory.recalled"));
    await it.client.rpc.call("cortex.lobe_resume", { lobe: "recaller" });
    await it.turn("How do we deploy?");
    assert(it.types().includes("memory.recalled"));
  },
});

Deno.test({
  name: "a published note reaches the session's subscribers and is listed",
  ignore,
  async fn() {
    await using place = new Place();
    await using client = await (await place.serve()).rpc();
    const session_id = await start(client, place.mkdir("w"));
    const publish = (note: Record<string, unknown>) =>
      client.rpc.call("cortex.publish", { session_id, note });
    const first = await publish({ text: "one" });
    const second = await publish({ text: "two", tags: ["ci"], severity: "warning" });
    const { data } = await client.wait(({ seq }) => seq === second.seq);
    assertEquals([data.text, data.reason_code], ["two", "published"]);
    const { notes } = await client.rpc.call("cortex.notes", { session_id });
    const by = "socket";
    assertEquals(notes, [
      { ...first, text: "one", tags: [], severity: "info", by },
      { ...second, text: "two", tags: ["ci"], severity: "warning", by },
    ]);
    const last = await client.rpc.call("cortex.notes", { session_id, limit: 1 });
    assertEquals(last.notes.length, 1);
  },
});

Deno.test({
  name: "a kill at any time leaves no automatic write without its audit record, and none twice",
  ignore,
  async fn() {
    const random = new Random(Math.floor(Math.random() * 1e9));
    console.log(`seed ${random.seed}`);
    await using place = new Place();
    const workdir = place.mkdir("w");
    for (let round = 1; round <= 3; round++) {
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      const session_id = await start(client, workdir);
      const lines = Array.from({ length: 60 }, (_, n) => `remember entry ${round}.${n}`);
      await client.rpc.call("session.send", { session_id, text: lines.join("\n") });
      const count = 1 + random.below(40);
      await client.wait(
        () => client.of("memory.written").length >= count,
        `${count} writes`,
        60_000,
      );
      await daemon.kill();
    }
    await using client = await (await place.serve()).rpc();
    const { entries } = await client.rpc.call("memory.query", {
      scope: "Worker",
      limit: 1000,
    });
    const { records } = await client.rpc.call("cortex.audit", { limit: 1000 });
    const written = new Map<string, string>();
    for (const { key, value } of entries) written.set(key.split("/")[1], await sha256(value));
    assert(written.size >= 3);
    assertEquals(
      new Map(records.map((it: Record<string, string>) => [it.entry_id, it.content_sha])),
      written,
    );
    assertEquals(records.length, written.size);
    const text = Deno.readTextFileSync(join(place.home, "cortex", "curator-audit.jsonl"));
    assertEquals(text.split("\n").length, records.length + 1);
  },
});

Deno.test({
  name: "an audit trail or a directory that others can read keeps the daemon from starting",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    const dir = join(place.home, "cortex");
    Deno.mkdirSync(dir, { recursive: true, mode: 0o700 });
    Deno.chmodSync(place.home, 0o700);
    Deno.writeTextFileSync(join(dir, "curator-audit.jsonl"), "", { mode: 0o600 });
    for (const [path, mode, good] of [["curator-audit.jsonl", 0o640, 0o600], ["", 0o750, 0o700]]) {
      const wide = join(dir, path as string);
      Deno.chmodSync(wide, mode as number);
      const { code, stderr } = await place.svc(["serve"]);
      assertEquals(code, 1);
      assertStringIncludes(stderr, wide);
      Deno.chmodSync(wide, good as number);
    }
  },
});
