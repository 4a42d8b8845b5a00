/** A home or a project that lost something while no daemon ran: sessions and records are as before. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { Random } from "../support/random.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc;
const MODEL = { model: "builtin/toolbelt", approval: "auto" };

/** All sessions and their states, as a client sees them first. */
async function listed(daemon: Daemon): Promise<[string, string][]> {
  const { json } = await daemon.http("GET", "/v1/sessions?include_ended=true");
  const pairs = json.sessions.map((it: { id: string; state: string }) => [it.id, it.state]);
  return pairs.toSorted(([a]: string[], [b]: string[]) => a < b ? -1 : 1);
}

Deno.test({
  name:
    "whatever became of the index, the next daemon lists every session from the first answer on",
  ignore,
  async fn() {
    await using place = new Place();
    const index = join(place.home, "sessions-index.json");
    let daemon = await place.serve();
    const ids: string[] = [];
    {
      await using client = await daemon.rpc();
      for (let n = 0; n < 3; n++) {
        ids.push(await client.session({ workdir: place.mkdir(`project-${n}`), ...MODEL }));
      }
      await client.rpc.call("session.pause", { session_id: ids[1] });
      await client.rpc.call("session.kill", { session_id: ids[2] });
    }
    const before = await listed(daemon);
    assertEquals(before, [[ids[0], "running"], [ids[1], "paused"], [ids[2], "ended"]]);
    for (const left of ["{}", undefined, "[]", "null", '{"sess_01', "\0\0"]) {
      await daemon.stop();
      if (left === undefined) Deno.removeSync(index);
      else Deno.writeTextFileSync(index, left);
      daemon = await place.serve();
      assertEquals((await daemon.http("GET", "/v1/health")).json.sessions, 2, left);
      assertEquals(await listed(daemon), before, left);
      await daemon.stop();
      assertEquals(
        Object.keys(JSON.parse(Deno.readTextFileSync(index))).toSorted(),
        ids.toSorted(),
      );
      daemon = await place.serve();
    }
  },
});

Deno.test({
  name: "a session that was being made when the daemon was killed does not come back later",
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    await using place = new Place();
    const index = join(place.home, "sessions-index.json");
    let daemon = await place.serve();
    const acknowledged: string[] = [];
    for (let round = 0; round < 5; round++) {
      {
        await using client = await daemon.rpc();
        const making = Promise.allSettled(Array.from({ length: 20 }, async (_, n) => {
          const workdir = place.mkdir(`project-${round}-${n}`);
          const { session_id } = await client.rpc.call("session.start", { workdir, ...MODEL });
          acknowledged.push(session_id);
        }));
        await delay(random.below(30));
        await daemon.kill();
        await making;
      }
      daemon = await place.serve();
      const with_index = await listed(daemon);
      for (const id of acknowledged) {
        assert(with_index.some(([listed]) => listed === id), `${id} was acknowledged`);
      }
      await daemon.kill();
      Deno.removeSync(index);
      daemon = await place.serve();
      assertEquals(await listed(daemon), with_index, "with and without the index");
    }
  },
});

Deno.test({
  name: "an ended session whose project is gone is still an ended session",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = place.mkdir("project");
    const session_id = await client.session({ workdir, ...MODEL });
    await client.rpc.call("session.kill", { session_id });
    await daemon.stop();
    Deno.removeSync(workdir, { recursive: true });
    daemon = await place.serve();
    assertEquals(await listed(daemon), [[session_id, "ended"]]);
    const { status, json } = await daemon.http("GET", `/v1/sessions/${session_id}`);
    assertEquals([status, json.error.code], [410, "ended"]);
    assertStringIncludes(json.error.message, "its journal no longer exists");
  },
});

Deno.test({
  name: "garbage in an anchor and in the memory's audit trail is replaced by what belongs there",
  ignore,
  async fn() {
    await using place = new Place();
    const trail = join(place.home, "cortex", "curator-audit.jsonl");
    let daemon = await place.serve();
    let session_id: string;
    {
      await using client = await daemon.rpc();
      session_id = await client.session({ workdir: place.mkdir("project"), ...MODEL });
      await client.turn(session_id, "remember herons eat fish");
    }
    await daemon.stop();
    const anchor = join(place.home, "ledger", `${session_id}.json`);
    const { seq } = JSON.parse(Deno.readTextFileSync(anchor));
    const first = Deno.readTextFileSync(trail);
    Deno.writeTextFileSync(anchor, "garbage\0{{{");
    Deno.writeTextFileSync(trail, `no record\n${first}{"torn`);

    daemon = await place.serve();
    {
      await using client = await daemon.rpc();
      await client.rpc.call("session.subscribe", { session_id });
      await client.turn(session_id, "remember owls eat mice");
      const { records } = await client.rpc.call("cortex.audit", {});
      assertEquals(records.length, 2);
    }
    await daemon.stop();
    assert(JSON.parse(Deno.readTextFileSync(anchor)).seq > seq);
    const lines = Deno.readTextFileSync(trail).trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    assertEquals(lines.length, 2);
    assertEquals(JSON.stringify(lines[0]), first.trimEnd());
    // What was there is not lost either.
    const aside = Deno.readTextFileSync(`${trail}.bad`);
    for (const garbage of ["no record", '{"torn']) assertStringIncludes(aside, garbage);
    assertStringIncludes(await daemon.log, "moved invalid lines out of the memory's audit trail");
  },
});
