import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { join } from "@std/path";
import { delay } from "@std/async";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc;
const LIMIT_MB = 0.2;

interface Snapshot {
  transcript: unknown;
  got: Record<string, unknown>;
}

async function snapshot(daemon: Daemon, id: string): Promise<Snapshot> {
  await using client = await daemon.rpc();
  const transcript = await client.rpc.call("session.transcript", { session_id: id });
  return { transcript, got: await client.rpc.call("session.get", { session_id: id }) };
}

/** Fills a session past the limit and waits until its journal was rewritten. */
async function fill(daemon: Daemon, id: string, journal: string): Promise<void> {
  await using client = await daemon.rpc();
  await client.rpc.call("session.subscribe", { session_id: id });
  const trimmed = () => Deno.readTextFileSync(journal).includes('"kind":"session.checkpoint"');
  for (let n = 0; n < 40 && !trimmed(); n++) {
    await client.turn(id, `run head -c 9000 /dev/zero | tr '\\0' ${"abcdefghij"[n % 10]}`);
  }
  for (let n = 0; n < 400 && !trimmed(); n++) await delay(50);
  assert(trimmed());
}

Deno.test({
  name:
    "a journal past its size is rewritten: transcript, totals and seq stay, also after a restart",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure(`[journal]\nretention_mb = ${LIMIT_MB}\n`);
    let daemon = await place.serve();
    const workdir = place.mkdir("project");
    const { json: { session_id: id } } = await daemon.http("POST", "/v1/sessions", {
      workdir,
      approval: "auto",
    });
    const journal = join(workdir, ".svc", "sessions", id, "journal.ndjson");
    await fill(daemon, id, journal);
    assertLess(Deno.statSync(journal).size, LIMIT_MB * 1e6 * 2);

    const [first, second] = Deno.readTextFileSync(journal).split("\n").map((line) =>
      JSON.parse(line || "null")
    );
    assertEquals(first.kind, "session.checkpoint");
    assertEquals(second.seq, first.seq + 1);

    const trimmed = await daemon.http("GET", `/v1/sessions/${id}/events?since_seq=0`);
    assertEquals(trimmed.status, 410);
    assertEquals(trimmed.json.error.code, "journal_trimmed");
    assertEquals(trimmed.json.error.details.oldest_seq, first.seq + 1);

    const before = await snapshot(daemon, id);
    await daemon.kill();
    daemon = await place.serve();
    const after = await snapshot(daemon, id);
    const { last_seq, last_event_at: _, ...rest } = after.got;
    const { last_seq: last_seq_before, last_event_at: __, ...rest_before } = before.got;
    assertEquals(rest, rest_before);
    assertGreater(last_seq as number, last_seq_before as number);
    assertEquals(
      (after.transcript as { messages: unknown }).messages,
      (before.transcript as { messages: unknown }).messages,
    );

    await using client = await daemon.rpc();
    const events = client.events;
    await client.rpc.call("session.subscribe", { session_id: id, since_seq: first.seq });
    const turn = await client.turn(id, "help");
    assertEquals(events.map(({ seq }) => seq), events.map((_, n) => first.seq + 1 + n));
    assertEquals(events.at(-1), turn);
  },
});

Deno.test({
  name: "a session at rest for longer than the limit keeps its checkpoint, and goes on from it",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const workdir = place.mkdir("project");
    await using client = await daemon.rpc();
    const id = await client.session({ workdir });
    await client.turn(id, "help");
    await daemon.stop();

    const journal = join(workdir, ".svc", "sessions", id, "journal.ndjson");
    const aged = Deno.readTextFileSync(journal)
      .replaceAll(/"at":"\d{4}-[^"]*"/g, '"at":"2020-01-01T00:00:00.000Z"');
    Deno.writeTextFileSync(journal, aged);
    const lines = aged.trimEnd().split("\n").length;

    daemon = await place.serve();
    for (let n = 0; n < 400; n++) {
      if (Deno.readTextFileSync(journal).startsWith('{"v":1,"seq":' + lines)) break;
      await delay(50);
    }
    const [checkpoint] = Deno.readTextFileSync(journal).split("\n");
    assertEquals(JSON.parse(checkpoint).kind, "session.checkpoint");
    assertEquals(JSON.parse(checkpoint).seq, lines);

    await using later = await daemon.rpc();
    await later.rpc.call("session.subscribe", { session_id: id });
    assertEquals((await later.turn(id, "ls")).data.stop_reason, "ok");
    const { messages } = await later.rpc.call("session.transcript", { session_id: id });
    assertEquals(messages[0], { role: "user", text: "help" });
  },
});
