/** Disks that are full, go read-only or lose a directory while the daemon runs. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { SvcError } from "../../src/protocol/errors.ts";
import { decodeRecord } from "../../src/session/record.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { until } from "../support/scripted.ts";
import { range, recordOf } from "../support/sessions.ts";
import { canMount, SmallDisk } from "../support/small_disk.ts";
import { can_run_svc, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc || !canMount();
const FULL = "No space left";
const PAGE = 4096;
/** `retention_mb = 0.05` */
const LIMIT = 50_000;

function journalPath(workdir: string, session_id: string): string {
  return join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
}

/** The events of a journal, which must be whole and, behind a checkpoint, without a gap. */
function journaled(workdir: string, session_id: string): SessionEvent[] {
  const text = Deno.readTextFileSync(journalPath(workdir, session_id));
  assert(text.endsWith("\n"), "the last line is whole");
  const events = text.trimEnd().split("\n").map(decodeRecord);
  const first = events[0].seq;
  assertEquals(events.map((it) => it.seq), range(first, first + events.length - 1));
  assert(first === 1 || events[0].type === "session.checkpoint");
  return events;
}

/** A message whose record takes the rest of the last page that a journal has on its disk. */
function pageFiller(workdir: string, session_id: string): string {
  const { size } = Deno.statSync(journalPath(workdir, session_id));
  const { length } = journaled(workdir, session_id);
  const at = new Date().toISOString();
  const data = { message_id: `msg_${"0".repeat(26)}`, text: "" };
  const empty = recordOf({ seq: length + 1, at, type: "user.message", data });
  return "x".repeat((2 * PAGE - size % PAGE - empty.length) % PAGE);
}

async function rejects(call: Promise<unknown>, text: string): Promise<SvcError> {
  const error = await assertRejects(() => call, SvcError);
  assertStringIncludes(error.message, text);
  return error;
}

/** What was seen of a session is what its journal has, no more and no less. */
async function assertSeen(client: TestClient, workdir: string, session_id: string) {
  let events: SessionEvent[] = [];
  let mine: TestClient["events"] = [];
  // A message that was taken meanwhile may be answered yet.
  await until(() => {
    events = journaled(workdir, session_id);
    mine = client.events.filter((event) => event.session_id === session_id);
    return mine.length >= events.length;
  }, "the last event");
  assertEquals(mine.map(({ seq, at, type, data }) => ({ seq, at, type, data })), events as never);
}

/** A turn of an untouched session: the daemon is well. */
async function assertWell(client: TestClient, session_id: string): Promise<void> {
  assertEquals((await client.turn(session_id, "ls")).data.stop_reason, "ok");
}

Deno.test({
  name:
    "the home is full: sessions go on, a new one is refused clearly; with room again all is well",
  ignore,
  async fn() {
    await using place = new Place();
    using disk = new SmallDisk(place.mkdir("home"), 4096);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = place.mkdir("one");
    const session_id = await client.session({ workdir, approval: "auto" });
    await assertWell(client, session_id);
    disk.fill();
    await assertWell(client, session_id);
    await rejects(client.rpc.call("session.start", { workdir: place.mkdir("two") }), FULL);
    const { sessions } = await client.rpc.call("session.list", { include_ended: true });
    assertEquals(sessions.map((it: { id: string }) => it.id), [session_id], "it was not started");
    await assertWell(client, session_id);

    disk.free();
    const second = await client.session({ workdir: place.mkdir("three"), approval: "auto" });
    await assertWell(client, second);
    await assertSeen(client, workdir, session_id);
    const index = Deno.readTextFileSync(join(place.home, "sessions-index.json"));
    assertEquals(Object.keys(JSON.parse(index)), [session_id, second]);
    assertEquals((await daemon.stop()).code, 0);
    await place.serve();
  },
});

Deno.test({
  name: "a workdir is full during streams, tools and ends: nothing written is lost, others go on",
  ignore,
  async fn() {
    const answer = { instant: 2_000, pace_ms: 1 };
    const server = startOpenAiServer(() => answer, { open: true, capture: false });
    await using place = new Place();
    place.useLocalModel(server.url, `[agent]\napproval = "auto"\n`);
    const workdir = place.mkdir("full");
    using disk = new SmallDisk(workdir, 1024);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const other = await client.session({ workdir: place.mkdir("other") });
    const streaming = await client.session({ workdir, model: "local/m" });
    const tool = await client.session({ workdir });
    const idle = await client.session({ workdir });

    // While it streams.
    disk.fill(64);
    await client.rpc.call("session.send", { session_id: streaming, text: "flood" });
    const status = async (session_id: string) =>
      await client.rpc.call("session.get", { session_id });
    await until(async () => {
      const { last_seq } = await status(streaming);
      await delay(300);
      return (await status(streaming)).last_seq === last_seq;
    }, "the end of the stream");
    disk.fill();
    const send = (session_id: string, text: string) =>
      client.rpc.call("session.send", { session_id, text });
    // A short message may have room in the last page of the journal.
    let refused: unknown;
    await until(async () => {
      refused = await send(streaming, "more").catch((error) => error);
      return refused instanceof SvcError;
    }, "the full disk");
    assert(refused instanceof SvcError);
    assertStringIncludes(refused.message, FULL);
    assertStringIncludes(refused.hint ?? "", "free disk space");
    await send(idle, pageFiller(workdir, idle));
    await rejects(client.rpc.call("session.kill", { session_id: idle }), FULL);
    await rejects(client.rpc.call("session.pause", { session_id: idle }), FULL);
    await rejects(client.rpc.call("session.start", { workdir }), FULL);
    await assertWell(client, other);
    disk.free();
    assertEquals((await status(idle)).state, "running");
    await client.rpc.call("session.kill", { session_id: idle });
    await client.turn(streaming, "go on", 30_000);
    await assertSeen(client, workdir, streaming);
    await assertSeen(client, workdir, idle);

    // A tool fills it, so that not even its end can be recorded.
    await send(tool, "run head -c 10000000 /dev/zero > zeros");
    await until(async () => {
      const got = await send(tool, "help").catch((error) => error);
      return got instanceof SvcError && got.message.includes(FULL);
    }, "the full disk").catch(() => {});
    await assertWell(client, other);
    Deno.removeSync(join(workdir, "zeros"));
    // The turn whose end could not be recorded gets it now.
    await until(async () => (await status(tool)).activity === "idle", "the end of its turn");
    assertEquals((await client.turn(tool, "help")).data.stop_reason, "ok");
    await assertSeen(client, workdir, tool);

    // The daemon stops meanwhile, and comes back when there is room.
    disk.fill();
    assertEquals((await daemon.stop()).code, 0);
    disk.free();
    const again = await place.serve();
    await using second = await again.rpc();
    const { sessions } = await second.rpc.call("session.list", { include_ended: true });
    assertEquals(
      sessions.map((it: { id: string; state: string }) => [it.id, it.state]),
      [[other, "running"], [streaming, "running"], [tool, "running"], [idle, "ended"]],
    );
    for (const session_id of [streaming, tool, idle]) journaled(workdir, session_id);
    await server.close();
  },
});

Deno.test({
  name: "a journal cannot be compacted on a full disk: it stays as it is, and is trimmed later",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure(`[journal]\nretention_mb = 0.05\n[agent]\napproval = "auto"\n`);
    const workdir = place.mkdir("full");
    using disk = new SmallDisk(workdir, 1024);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    // What undo keeps of a trusted session would take some of the room.
    const session_id = await client.session({ workdir, trust: "untrusted" });
    const text = "run head -c 12000 /dev/zero | tr '\\0' x";
    await client.turn(session_id, text);
    const path = journalPath(workdir, session_id);
    // Room for the turns that pass the limit, but not for a second journal of half the size.
    const { size } = Deno.statSync(path);
    const turns = Math.ceil((LIMIT - size) / size);
    disk.fill(Math.ceil((turns + 0.5) * size / 1024));
    while (Deno.statSync(path).size < LIMIT) await client.turn(session_id, text);
    journaled(workdir, session_id);
    const log = join(place.home, "log", "daemon.ndjson");
    const said = () => Deno.readTextFileSync(log).includes("cannot compact a journal");
    await until(said, "the attempt");
    const files = () => [...Deno.readDirSync(join(path, ".."))].map((it) => it.name).sort();
    await until(() => files().join() === "journal.ndjson", "the end of the attempt");
    await assertWell(client, session_id);
    disk.free();
    await client.turn(session_id, text);
    await until(() => Deno.readTextFileSync(path).includes("session.checkpoint"), "a checkpoint");
    assertEquals((await daemon.stop()).code, 0);
    assertStringIncludes(await daemon.log, "cannot compact a journal");
  },
});

Deno.test({
  name: "a workdir turns read-only: messages are refused clearly until it can be written again",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    using disk = new SmallDisk(workdir, 1024);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const other = await client.session({ workdir: place.mkdir("other"), approval: "auto" });
    const session_id = await client.session({ workdir, approval: "auto" });
    await assertWell(client, session_id);
    // Possible once the session rests and its journal is closed.
    await until(() => disk.remount("ro"), "the remount");
    const READ_ONLY = "Read-only file system";
    await rejects(client.rpc.call("session.send", { session_id, text: "ls" }), READ_ONLY);
    await rejects(client.rpc.call("session.start", { workdir }), READ_ONLY);
    await assertWell(client, other);
    disk.remount("rw");
    await assertWell(client, session_id);
    await assertSeen(client, workdir, session_id);
  },
});

Deno.test({
  name: "a workdir is deleted: the session says so, the others go on, also over a restart",
  ignore: !can_run_svc || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const other = await client.session({ workdir: place.mkdir("other"), approval: "auto" });
    const session_id = await client.session({ workdir, approval: "auto" });
    await assertWell(client, session_id);
    Deno.removeSync(workdir, { recursive: true });
    await rejects(client.rpc.call("session.send", { session_id, text: "ls" }), "No such file");
    await assertWell(client, other);
    assertEquals((await daemon.stop()).code, 0);

    const again = await place.serve();
    await using second = await again.rpc();
    const { sessions } = await second.rpc.call("session.list");
    assertEquals(
      sessions.map((it: { id: string; state: string }) => [it.id, it.state]),
      [[other, "running"], [session_id, "unreadable"]],
    );
    assertStringIncludes(sessions[1].reason, "its directory is not at");
    const send = second.rpc.call("session.send", { session_id, text: "ls" });
    await rejects(send, "unreadable: its directory is not at");
    await second.rpc.call("session.subscribe", { session_id: other });
    await assertWell(second, other);
  },
});
