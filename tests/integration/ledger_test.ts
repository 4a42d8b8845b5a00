import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { delay } from "@std/async";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

Deno.test({
  name: "the ledger is a hash chain over the journal, and a changed record is found",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const workdir = place.mkdir("project");
    let id: string;
    {
      await using client = await daemon.rpc();
      id = await client.session({ workdir });
      await client.turn(id, "ls");
      const first = await client.rpc.call("ledger.list_events", { session_id: id, limit: 3 });
      assertEquals(first.events.length, 3);
      const rest = await client.rpc.call("ledger.list_events", {
        session_id: id,
        cursor: first.next_cursor,
      });
      const hashes = [...first.events, ...rest.events].map(({ hash }) => hash);
      const { last_seq } = await client.rpc.call("session.get", { session_id: id });
      assertEquals(new Set(hashes).size, last_seq);

      const nodes = await Promise.all(
        hashes.map((hash) => client.rpc.call("ledger.get_node", { hash })),
      );
      for (const [n, node] of nodes.entries()) {
        const prev = node.edges.find(({ kind }: { kind: string }) => kind === "prev");
        assertEquals(prev?.to, hashes[n - 1]);
      }
      const completed = nodes.find(({ type }) => type === "session.tool_completed");
      const cause = completed.edges.find(({ kind }: { kind: string }) => kind === "cause").to;
      const started = await client.rpc.call("ledger.get_node", { hash: cause });
      assertEquals(started.type, "session.tool_started");
      assertEquals(started.payload.data.call_id, completed.payload.data.call_id);
    }
    await daemon.stop();

    daemon = await place.serve();
    const good = await place.svc(["ctl", "call", "ledger.verify", `{"session_id":"${id}"}`]);
    const verified = JSON.parse(good.stdout);
    assert(verified.ok && verified.anchored_seq > 0, good.stdout);
    await daemon.kill();

    const path = join(workdir, ".svc", "sessions", id, "journal.ndjson");
    const text = Deno.readTextFileSync(path);
    const changed = text.replace('"text":"ls"', '"text":"rm"');
    assertNotEquals(changed, text);
    Deno.writeTextFileSync(path, changed);
    daemon = await place.serve();
    const bad = await place.svc(["ctl", "ledger", "verify", id]);
    assertEquals(bad.code, 1);
    assertStringIncludes(bad.stdout + bad.stderr, "do not match the anchor");
  },
});

Deno.test({
  name: "cost history adds up, by minute, hour and day, also after a restart",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    await using client = await daemon.rpc();
    const id = await client.session({ workdir });
    await client.turn(id, "help");
    await delay(1);
    const current = await client.rpc.call("cost.get_current", { session_id: id });
    assertEquals([current.usd, current.tokens_in, current.tokens_out], [0, 0, 0]);
    for (const bucket of ["minute", "hour", "day"]) {
      const { buckets } = await client.rpc.call("cost.get_history", { session_id: id, bucket });
      const tokens = buckets.reduce((sum: number, it: { tokens: number }) => sum + it.tokens, 0);
      assertEquals(tokens, current.tokens_in + current.tokens_out);
    }
  },
});

Deno.test({
  name: "costs are by the days of a time zone, which may begin at a quarter past",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "Done." }]);
    await it.turn("go");
    const call = it.client.rpc.call.bind(it.client.rpc);
    const days = { bucket: "day", time_zone: "Asia/Kathmandu" } as const;
    const { groups: [group] } = await call("cost.breakdown", { by: "model", ...days });
    const { buckets } = await call("cost.get_history", days);
    for (const { at } of [...group.buckets, ...buckets]) {
      assertEquals(at.slice(11), "18:15:00.000Z");
    }
    assertEquals(buckets.length, 1);
    await assertRejects(
      () => call("cost.get_history", { time_zone: "Asia/Nowhere" }),
      Error,
      "must be a time zone",
    );
  },
});
