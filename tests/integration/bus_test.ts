import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import type { EventParams } from "../../src/client/rpc.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;
const DELTAS = ["session.delta", "lane.delta"];

Deno.test({
  name: "the bus tells every control event of every session once, across restarts and a crash",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const workdirs = ["a", "b"].map((name) => place.mkdir(name));
    const journaled: Record<string, number[]> = {};
    const ids: string[] = [];
    {
      await using tail = await daemon.rpc();
      const { current_seq } = await tail.rpc.call("bus.tail", { since_seq: 0 });
      assert(current_seq <= 1);
      await using client = await daemon.rpc();
      for (const workdir of workdirs) ids.push(await client.session({ workdir }));
      await Promise.all(ids.map((id) => client.turn(id, "help")));
      for (const id of ids) {
        await tail.wait((it) => it.session_id === id && it.type === "turn.completed");
        journaled[id] = client.events
          .filter((it) => it.session_id === id && !DELTAS.includes(it.type))
          .map(({ seq }) => seq);
        assertEquals(seqsOf(tail.events, id), journaled[id]);
      }
      assertEquals(tail.events.filter(({ type }) => DELTAS.includes(type)), []);
      assertGapless(tail.events);
      assertEquals(tail.events[0].type, "daemon.listening");
      assertEquals("token" in tail.events[0].data, false);
    }
    await daemon.kill();

    daemon = await place.serve();
    {
      await using tail = await daemon.rpc();
      await tail.rpc.call("bus.tail", { since_seq: 0 });
      await using own = await daemon.rpc();
      await own.rpc.call("bus.tail", { since_seq: 0, session_id: ids[0] });
      await using client = await daemon.rpc();
      const turn = await client.rpc.call("session.subscribe", { session_id: ids[0] })
        .then(() => client.turn(ids[0], "ls"));
      await tail.wait((it) => it.session_id === ids[0] && it.seq === turn.seq);
      await own.wait((it) => it.seq === turn.seq);
      assertGapless(tail.events);
      assertEquals(
        seqsOf(tail.events, ids[0]).slice(0, journaled[ids[0]].length),
        journaled[ids[0]],
      );
      assertEquals(
        own.events.map(({ session_id }) => session_id === ids[0]).includes(false),
        false,
      );
      assertEquals(seqsOf(own.events, ids[0]), seqsOf(tail.events, ids[0]));

      const told = tail.events.slice(1).map(({ sub: _, ...event }) => event);
      const last = told.at(-1)!.bus_seq!;
      const { events, next_seq } = await client.rpc.call("bus.replay", {
        from_seq: 2,
        to_seq: last,
      });
      assertEquals(next_seq, undefined);
      assertEquals(events, told);
    }
    await daemon.stop();
    const { mode } = Deno.statSync(join(place.home, "bus"));
    assertEquals(mode! & 0o777, 0o700);
  },
});

Deno.test({
  name:
    "a tail ends with the daemon's stop, after the last event; the next daemon goes on from there",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const workdir = place.mkdir("project");
    let last: EventParams;
    {
      await using tail = await daemon.rpc();
      await tail.rpc.call("bus.tail", { since_seq: 0 });
      await using client = await daemon.rpc();
      const id = await client.session({ workdir });
      await client.turn(id, "help");
      await client.rpc.call("daemon.shutdown", { grace_s: 5 });
      last = await tail.wait(({ type }) => type === "session.paused", "session.paused");
      await tail.rpc.closed;
      assertEquals(tail.events.at(-1), last);
      assertEquals(tail.of("daemon.shutdown").length, 1);
    }
    await daemon.ended();
    daemon = await place.serve();
    await using tail = await daemon.rpc();
    await tail.rpc.call("bus.tail", { since_seq: last.bus_seq });
    await tail.wait(({ type }) => type === "session.resumed", "session.resumed");
    assertEquals(tail.events[0].bus_seq, last.bus_seq! + 1);
    assertGapless(tail.events);
    const refused = tail.rpc.call("bus.tail", { since_seq: 1_000_000 });
    assertEquals((await assertRejects(() => refused, SvcError)).code, "validation");
  },
});

Deno.test({
  name: "a tail can be of some types of events only, by their names or what those begin with",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using tail = await daemon.rpc();
    await tail.rpc.call("bus.tail", { since_seq: 0, types: ["turn.", "session.created"] });
    await using client = await daemon.rpc();
    const id = await client.session({ workdir: place.mkdir("project") });
    await client.turn(id, "help");
    await tail.wait(({ type }) => type === "turn.completed", "turn.completed");
    const types = tail.events.map(({ type }) => type);
    assertEquals(types, ["session.created", "turn.started", "turn.completed"]);
    const none = tail.rpc.call("bus.tail", { types: [] });
    assertEquals((await assertRejects(() => none, SvcError)).code, "validation");
  },
});

Deno.test({
  name: "what a crash kept from the bus follows from the journals: each event once, in order",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const sessions: { id: string; journal: string }[] = [];
    const segment = join(place.home, "bus", "0000000000000001.ndjson");
    for (let round = 0; round < 4; round++) {
      {
        await using client = await daemon.rpc();
        const workdir = place.mkdir(`project-${round}`);
        const id = await client.session({ workdir });
        sessions.push({ id, journal: join(workdir, ".svc/sessions", id, "journal.ndjson") });
        const calls = sessions.map(({ id }) =>
          client.rpc.call("session.send", { session_id: id, text: "help" })
        );
        await Promise.all(calls);
      }
      await daemon.kill();
      // What had not reached the disk when the power failed.
      const text = Deno.readTextFileSync(segment);
      Deno.writeTextFileSync(segment, text.slice(0, text.length * (1 - round / 4)));
      daemon = await place.serve();
    }
    let told = 0;
    {
      await using tail = await daemon.rpc();
      await tail.rpc.call("bus.tail", { since_seq: 0 });
      await using client = await daemon.rpc();
      for (const { id, journal } of sessions) {
        await client.rpc.call("session.subscribe", { session_id: id });
        const { seq } = await client.turn(id, "help");
        await tail.wait((it) => it.session_id === id && it.seq === seq);
        const journaled = Deno.readTextFileSync(journal).trimEnd().split("\n")
          .map((line) => JSON.parse(line)).filter(({ kind }) => !DELTAS.includes(kind));
        assertEquals(
          tail.events.filter((it) => it.session_id === id).map(({ seq, type }) => [seq, type]),
          journaled.filter((it) => it.seq <= seq).map(({ seq, kind }) => [seq, kind]),
        );
      }
      assertGapless(tail.events);
      told = tail.events.filter(({ type }) => type === "bus.completed").length;
    }
    assert(told >= 1, "observers learn that it was completed");
    await daemon.stop();
    const lines = Deno.readTextFileSync(segment).trimEnd().split("\n").map((it) => JSON.parse(it));
    for (const { id } of sessions) assert(lines.some((it) => it.task_scope === id));
    const positions = JSON.parse(Deno.readTextFileSync(join(place.home, "bus/positions.json")));
    assertEquals(positions.bus_seq, lines.at(-1).bus_seq);
  },
});

Deno.test({
  name: "a bus that cannot be written costs sessions nothing",
  ignore,
  async fn() {
    await using place = new Place();
    const dir = join(place.home, "bus");
    // A directory where the first file would be: not even root can write there.
    Deno.mkdirSync(join(dir, "0000000000000001.ndjson"), { recursive: true, mode: 0o700 });
    Deno.chmodSync(place.home, 0o700);
    Deno.chmodSync(dir, 0o700);
    const daemon = await place.serve();
    {
      await using client = await daemon.rpc();
      const id = await client.session({ workdir: place.mkdir("project") });
      assertEquals((await client.turn(id, "help")).data.stop_reason, "ok");
      const tail = client.rpc.call("bus.tail");
      assertEquals((await assertRejects(() => tail, SvcError)).code, "permission_denied");
    }
    assertEquals((await daemon.stop()).code, 0);
    assertEquals((await daemon.log).split("the bus drops events").length, 2);
  },
});

function seqsOf(events: EventParams[], session_id: string): number[] {
  return events.filter((event) => event.session_id === session_id).map(({ seq }) => seq);
}

function assertGapless(events: EventParams[]): void {
  const [first] = events;
  assertEquals(
    events.map(({ bus_seq }) => bus_seq),
    events.map((_, n) => first.bus_seq! + n),
  );
}
