/** product.md, Resources: Session journal; Limits: journal retention. */
import { assert, assertEquals, assertGreater, assertLess, assertStringIncludes } from "@std/assert";
import { hasProgram } from "../support/programs.ts";
import { type Daemon, Place } from "../support/svc.ts";
import { type Json, SocketClient } from "./client.ts";
import { row } from "./row.ts";
import { eventually, http, journalPath, readJournal, Shared } from "./shared.ts";
import { traced } from "./trace.ts";

const shared = new Shared();
const SECTION = "Session journal";
const HOUR_MS = 3_600_000;
const can_trace = hasProgram("strace");

row("product", SECTION, "<workdir>/.svc/sessions/<session_id>/journal.ndjson", async () => {
  const workdir = shared.workdir();
  const id = await shared.session({ workdir });
  assert(Deno.lstatSync(journalPath(workdir, id)).isFile);
});

row("product", SECTION, "append-only NDJSON, one record per line", async () => {
  await using client = await shared.socket();
  const workdir = shared.workdir();
  const id = await client.session({ workdir, approval: "auto" });
  const path = journalPath(workdir, id);
  let before = "";
  for (const text of ["help", "ls", "run printf 'a\\nb\\n'", "write f\n```\none\ntwo\n```"]) {
    await client.turn(id, text);
    const now = Deno.readTextFileSync(path);
    assert(now.startsWith(before) && now.length > before.length && now.endsWith("\n"));
    before = now;
  }
  for (const record of readJournal(path)) {
    assert(typeof record === "object" && record !== null && !Array.isArray(record));
  }
});

row("product", SECTION, "schema marker v: 1", async () => {
  await using client = await shared.socket();
  const workdir = shared.workdir();
  const id = await client.session({ workdir });
  await client.turn(id, "help");
  await client.call("session.kill", { session_id: id });
  for (const { v } of readJournal(journalPath(workdir, id))) assertEquals(v, 1);
});

for (
  const [type, method] of [["session.ended", "session.kill"], ["session.paused", "session.pause"]]
) {
  row("product", SECTION, `flushed to disk (fsync) on ${type}`, async () => {
    await using client = await shared.socket();
    const workdir = shared.workdir();
    const session_id = await client.session({ workdir });
    await client.turn(session_id, "help");
    const trace = await traced(shared.daemon.pid, "fsync,fdatasync", async () => {
      await client.call(method, { session_id });
    });
    const path = journalPath(workdir, session_id);
    assertStringIncludes(trace, path);
    assert(readJournal(path).some(({ kind }) => kind === type));
  }, { ignore: !can_trace });
}

/** Whether a session whose journal has `turns` more turns, of that age and size, was trimmed. */
async function trimmed(
  { age_ms = 0, turns, size, configuration }: {
    age_ms?: number;
    turns: number;
    size: number;
    configuration?: string;
  },
): Promise<boolean> {
  await using place = new Place();
  if (configuration !== undefined) place.configure(configuration);
  let daemon = await place.serve();
  const first = await grown(place, daemon, "first");
  const old = await grown(place, daemon, "old");
  const fresh = await grown(place, daemon, "fresh");
  const last = await grown(place, daemon, "last");
  await daemon.stop();
  grow(old.path, turns, size, age_ms);
  for (const { path } of [first, last]) grow(path, 1, 1, 30 * HOUR_MS);
  const whole = Deno.statSync(old.path).size;
  daemon = await place.serve();
  const gone = async () => {
    const { status } = await http(daemon, "GET", `/v1/sessions/${old.id}/events?since_seq=0`, {
      headers: { accept: "application/json" },
    }).catch(() => ({ status: 0 }));
    return status === 410;
  };
  // Sessions are looked at one after the other: when those around it were trimmed, so was this one.
  const begin = (path: string) => firstRecord(path).kind;
  const looked = () => [first, last].every(({ path }) => begin(path) === "session.checkpoint");
  assert(await eventually(looked, 60_000), "the other old sessions are trimmed");
  const was = Deno.statSync(old.path).size < whole;
  assertEquals(begin(old.path), was ? "session.checkpoint" : "session.created");
  if (was) {
    assert(await gone(), "what is gone cannot be replayed");
    assertLess(Deno.statSync(old.path).size, 100_000_000);
  }
  // One that is young and small keeps every record in any case.
  assertEquals(readJournal(fresh.path)[0].seq, 1);
  await using client = await SocketClient.connect(daemon.sock);
  await client.call("session.subscribe", { session_id: old.id });
  assertEquals((await client.turn(old.id, "help")).data.stop_reason, "ok");
  return was;
}

/** The first record of a journal, however long that is. */
function firstRecord(path: string): Json {
  const text = Deno.readTextFileSync(path);
  return JSON.parse(text.slice(0, text.indexOf("\n")));
}

async function grown(place: Place, daemon: Daemon, name: string) {
  await using client = await SocketClient.connect(daemon.sock);
  const workdir = place.mkdir(name);
  const id = await client.session({ workdir });
  await client.turn(id, "help");
  return { id, path: journalPath(workdir, id) };
}

/** Adds finished turns to a journal, and moves all of it into the past. */
function grow(path: string, turns: number, size: number, age_ms: number): void {
  const at = new Date(Date.now() - age_ms).toISOString();
  const records = readJournal(path).map((it) => ({ ...it, at: age_ms > 0 ? at : it.at }));
  let { seq } = records.at(-1)!;
  const add = (kind: string, fields: Record<string, unknown>) =>
    records.push({ v: 1, seq: ++seq, at, kind, ...fields });
  for (let n = 0; n < turns; n++) {
    const turn_id = `turn_${n}`;
    add("user.message", { message_id: `msg_${n}`, text: "x".repeat(size) });
    add("turn.started", { turn_id, model: "builtin/toolbelt" });
    add("turn.completed", { turn_id, stop_reason: "ok", message: "done", usage: {} });
  }
  Deno.writeTextFileSync(path, records.map((it) => JSON.stringify(it) + "\n").join(""));
  // As a daemon leaves it: else the next flush of a turn would wait for all of this.
  const file = Deno.openSync(path, { write: true });
  file.syncSync();
  file.close();
}

row("product", SECTION, "retention default: 24 hours", async () => {
  assertEquals(await trimmed({ age_ms: 25 * HOUR_MS, turns: 3, size: 10_000 }), true);
  assertEquals(await trimmed({ age_ms: 23 * HOUR_MS, turns: 3, size: 10_000 }), false);
});

row("product", SECTION, "retention default: 100 MB per session", async () => {
  assertEquals(await trimmed({ turns: 108, size: 1_000_000 }), true);
  assertEquals(await trimmed({ turns: 90, size: 1_000_000 }), false);
});

row("product", SECTION, "the limits can be changed by operator configuration", async () => {
  const hours = "[journal]\nretention_hours = 1\n";
  assertEquals(
    await trimmed({ age_ms: 2 * HOUR_MS, turns: 3, size: 1000, configuration: hours }),
    true,
  );
  const size = "[journal]\nretention_mb = 1\n";
  assertEquals(await trimmed({ turns: 20, size: 100_000, configuration: size }), true);
});

row("product", "Limits", "journal retention: applies to each session journal", async () => {
  await using place = new Place();
  place.configure("[journal]\nretention_mb = 0.1\n");
  const daemon = await place.serve();
  const [big, small] = [await grown(place, daemon, "big"), await grown(place, daemon, "small")];
  await using client = await SocketClient.connect(daemon.sock);
  await client.call("session.subscribe", { session_id: big.id });
  const first = () => readJournal(big.path)[0].seq;
  for (let n = 0; n < 60 && first() === 1; n++) {
    await client.turn(big.id, `# ${"filler ".repeat(1_000)}\nhelp`);
  }
  await eventually(() => first() > 1);
  assertGreater(first(), 1);
  assertEquals(readJournal(small.path)[0].seq, 1);
});
