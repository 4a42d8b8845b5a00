import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { tinyPng } from "../support/media.ts";
import { can_run_svc, type Daemon, Place, type TestClient } from "../support/svc.ts";
import { filesWith } from "../support/traces.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const MARKER = "herons-nest-7431";

/** A session in which something was said, done and remembered. */
async function spoken(place: Place, client: TestClient, marker = MARKER, more = {}) {
  const workdir = place.mkdir(`work-${marker}`.replaceAll(MARKER, "x"));
  const id = await client.session({ workdir, approval: "auto", ...more });
  const { rpc } = client;
  const attachments = [{ data: tinyPng().toBase64(), name: `${marker}.png` }];
  await rpc.call("session.send", {
    session_id: id,
    text: `run echo ${marker} >/tmp/kept; echo ${marker}`,
    attachments,
  });
  await client.wait(({ session_id, type }) => session_id === id && type === "turn.completed");
  await rpc.call("cortex.remember", {
    session_id: id,
    scope: "Session",
    category: "fact",
    content: `The word is ${marker}.`,
  });
  return { id, workdir };
}

async function ids(daemon: Daemon): Promise<string[]> {
  const { json } = await daemon.http("GET", "/v1/sessions?include_ended=true");
  return json.sessions.map(({ id }: { id: string }) => id);
}

Deno.test({
  name: "a deleted session leaves no byte of what was said, and others are as they were",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    {
      await using client = await daemon.rpc();
      const other = await spoken(place, client, "kingfisher-11");
      const { id } = await spoken(place, client);
      // It runs something, and somebody follows it and the bus.
      await client.rpc.call("session.send", {
        session_id: id,
        text: `run echo ${MARKER}; sleep 60`,
      });
      await client.wait(({ type, data }) => type === "lane.delta" && data.lane_id !== "main");
      assert(filesWith(place.dir, MARKER).length > 3);
      const replay = () => client.rpc.call("bus.replay", { from_seq: 1, to_seq: 1_000 });
      const before = await replay();
      assertEquals((await daemon.http("POST", `/v1/sessions/${id}/delete`)).status, 204);
      assertEquals(filesWith(place.dir, MARKER), []);
      assertEquals(await ids(daemon), [other.id]);
      assertEquals((await daemon.http("GET", `/v1/sessions/${id}`)).status, 404);
      assertEquals((await daemon.http("POST", `/v1/sessions/${id}/delete`)).status, 404);
      // The bus has all its places, and goes on.
      const after = await replay();
      assert(after.events.length >= before.events.length, JSON.stringify([before, after]));
      after.events.forEach(({ bus_seq }: { bus_seq: number }, n: number) =>
        assertEquals(bus_seq, n + 1)
      );
      const own = after.events.filter((it: { session_id: string }) => it.session_id === id);
      assert(own.length > 10);
      for (const { type, data } of own) assertEquals([type, data], ["session.deleted", {}]);
      await client.turn(other.id, "run echo still here");
      assert(filesWith(place.dir, "kingfisher-11").length > 3);
    }
    await daemon.stop();
    assertEquals(filesWith(place.dir, MARKER), []);
    daemon = await place.serve();
    assertEquals((await ids(daemon)).length, 1);
    const { json } = await daemon.http("POST", "/v1/rpc", {
      jsonrpc: "2.0",
      id: 1,
      method: "bus.replay",
      params: { from_seq: 1, to_seq: 5_000 },
    });
    assert(json.result.events.some(({ type }: { type: string }) => type === "session.deleted"));
    await daemon.kill();
    // Also where the index is lost.
    Deno.removeSync(join(place.home, "sessions-index.json"));
    assertEquals((await ids(await place.serve())).length, 1);
    assertEquals(filesWith(place.home, MARKER), []);
  },
});

Deno.test({
  name: "ended and unreadable sessions can be deleted, after a restart too; DELETE still ends one",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const made: string[] = [];
    let workdir = "";
    {
      await using client = await daemon.rpc();
      for (let n = 0; n < 3; n++) {
        const it = await spoken(place, client);
        made.push(it.id);
        workdir = it.workdir;
      }
      assertEquals((await daemon.http("DELETE", `/v1/sessions/${made[0]}`)).status, 204);
      assertEquals((await daemon.http("GET", `/v1/sessions/${made[0]}`)).json.state, "ended");
    }
    await daemon.stop();
    const journal = join(workdir, ".svc/sessions", made[1], "journal.ndjson");
    Deno.writeTextFileSync(journal, `${MARKER}\n${MARKER}\n`);
    daemon = await place.serve();
    for (const id of made) {
      assertEquals((await daemon.http("POST", `/v1/sessions/${id}/delete`)).status, 204);
    }
    assertEquals(await ids(daemon), []);
    assertEquals(filesWith(place.dir, MARKER), []);
  },
});

Deno.test({
  name: "svc ctl sessions delete asks, or wants --yes",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const { id } = await spoken(place, client);
    const command = ["ctl", "sessions", "delete", id];
    const refused = await place.svc(command);
    assertEquals(refused.code, 2);
    assertStringIncludes(refused.stderr, "--yes");
    assertEquals(await ids(daemon), [id]);
    const done = await place.svc([...command, "--yes", "--json"]);
    assertEquals([done.code, JSON.parse(done.stdout)], [0, { session_id: id, deleted: true }]);
    const again = await place.svc([...command, "--yes"]);
    assertEquals(again.code, 1);
    assertStringIncludes(again.stderr, "there is no session");
  },
});

Deno.test({
  name: "deleting follows no link, and leaves what works for a task",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const { id, workdir } = await spoken(place, client);
    await client.rpc.call("session.kill", { session_id: id });
    const dir = dirname(join(workdir, ".svc/sessions", id, "journal.ndjson"));
    const elsewhere = place.mkdir("precious");
    Deno.renameSync(dir, join(elsewhere, id));
    Deno.symlinkSync(join(elsewhere, id), dir);
    const { status, json } = await daemon.http("POST", `/v1/sessions/${id}/delete`);
    assertEquals(status, 403, JSON.stringify(json));
    assert([...Deno.readDirSync(join(elsewhere, id))].length > 0);
    assertEquals(await ids(daemon), [id]);

    const title = "task t-01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const work = await client.session({ workdir: place.mkdir("w"), title });
    assertEquals((await daemon.http("POST", `/v1/sessions/${work}/delete`)).status, 409);
    await client.rpc.call("session.kill", { session_id: work });
    assertEquals((await daemon.http("POST", `/v1/sessions/${work}/delete`)).status, 204);
  },
});
