/** product.md, Resources: Daemon-level files; the tool-protocol catalog as far as its verbs exist. */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { hasProgram } from "../support/programs.ts";
import { Place } from "../support/svc.ts";
import { SocketClient } from "./client.ts";
import { row } from "./row.ts";
import {
  createSession,
  eventually,
  exists,
  isTimestamp,
  journalPath,
  mode,
  Shared,
} from "./shared.ts";
import { traced } from "./trace.ts";

const shared = new Shared();
const SECTION = "Daemon-level files";
const CATALOG = "Tool-protocol catalog";

const inHome = (name: string) => join(shared.place.home, name);
const index = () => JSON.parse(Deno.readTextFileSync(inHome("sessions-index.json")));

row("product", SECTION, "directory ~/.svc/, mode 0700", () => {
  assertEquals(mode(shared.place.home), "700");
});

row("product", SECTION, "daemon.json, 0600: discovery record", () => {
  assertEquals(mode(inHome("daemon.json")), "600");
  assertEquals(shared.place.discovery().pid, shared.daemon.pid);
});

row("product", SECTION, "daemon.lock, 0600: advisory lock file", async () => {
  assertEquals(mode(inHome("daemon.lock")), "600");
  const { success } = await new Deno.Command("flock", {
    args: ["--nonblock", inHome("daemon.lock"), "true"],
  }).output();
  assertEquals(success, false, "another process gets the lock");
}, { ignore: !hasProgram("flock") });

row("product", SECTION, "sessions-index.json, 0600: map from session id", async () => {
  const workdir = shared.workdir();
  const { session_id, started_at } = await createSession(shared.daemon, { workdir });
  assertEquals(mode(inHome("sessions-index.json")), "600");
  const { last_seq, ...entry } = index()[session_id];
  assertEquals(entry, { workdir, started_at, journal_path: journalPath(workdir, session_id) });
  assert(Number.isInteger(last_seq) && last_seq >= 0);
});

row("product", SECTION, "sessions-index.json: updated on create, kill and flush", async () => {
  await using client = await shared.socket();
  const session_id = await client.session({ workdir: shared.workdir() });
  const created = index()[session_id];
  assertNotEquals(created, undefined);
  await client.turn(session_id, "help");
  await client.call("session.pause", { session_id });
  const { last_seq } = await client.call("session.get", { session_id });
  assert(await eventually(() => index()[session_id].last_seq === last_seq), "flush");
  await client.call("session.resume", { session_id });
  await client.call("session.kill", { session_id });
  const ended = await client.event((it) => it.type === "session.ended");
  assert(await eventually(() => (index()[session_id]?.last_seq ?? ended.seq) === ended.seq));
});

row(
  "product",
  SECTION,
  "sessions-index.json: written to a temporary file and renamed",
  async () => {
    const inodes = new Set<number | null>();
    const reading = eventually(() => {
      inodes.add(Deno.statSync(inHome("sessions-index.json")).ino);
      // Never half a file.
      return Object.keys(index()).length >= 60;
    }, 60_000);
    for (let n = 0; n < 60; n++) await shared.session();
    assert(await reading);
    assert(inodes.size > 1);
    // An earlier session that comes to rest has it written, too.
    const left = () => [...Deno.readDirSync(shared.place.home)].some((it) => /tmp/.test(it.name));
    assert(await eventually(() => !left()), "a temporary file is left");
  },
);

row("product", SECTION, "sessions-index.json: rename, then fsync of the parent", async () => {
  const calls = "fsync,fdatasync,rename,renameat,renameat2";
  const trace = await traced(shared.daemon.pid, calls, async () => {
    await shared.session();
  });
  const lines = trace.split("\n");
  const renamed = lines.findLastIndex((it) => /rename/.test(it) && /sessions-index/.test(it));
  const written = lines.findIndex((it) => /sync\(/.test(it) && /sessions-index/.test(it));
  assert(renamed >= 0, trace);
  assert(written >= 0 && written < renamed, "the temporary file is flushed before");
  const after = lines.slice(renamed).filter((it) => it.includes("sync("));
  assert(after.some((it) => it.includes(`<${shared.place.home}>`)), trace);
}, { ignore: !hasProgram("strace") });

row("product", SECTION, "cortex/curator-audit.jsonl, 0600: append-only audit trail", async () => {
  await using client = await shared.socket();
  const id = await client.session({ workdir: shared.workdir(), approval: "auto" });
  const path = inHome("cortex/curator-audit.jsonl");
  const lines = () => exists(path) ? Deno.readTextFileSync(path).split("\n").slice(0, -1) : [];
  const before = lines();
  await client.turn(id, "remember the build runs with make");
  await client.turn(id, "remember the tests run with make check");
  assert(await eventually(() => lines().length >= before.length + 2), "a record per write");
  assertEquals(lines().slice(0, before.length), before);
  assertEquals(mode(path), "600");
  for (const line of lines().slice(before.length)) {
    const record = JSON.parse(line);
    assert(isTimestamp(record.ts));
    for (const field of ["entry_id", "category", "content_sha", "source_msg_id"]) {
      assertEquals(typeof record[field], "string", field);
    }
  }
});

row("product", SECTION, "bus/: durable write-ahead log, scoped per session", async () => {
  await using place = new Place();
  let daemon = await place.serve();
  const ids: string[] = [];
  {
    await using client = await SocketClient.connect(daemon.sock);
    for (const name of ["one", "two"]) {
      const id = await client.session({ workdir: place.mkdir(name) });
      await client.turn(id, "help");
      ids.push(id);
    }
  }
  await daemon.stop();
  const bus = Deno.readTextFileSync(join(place.home, "bus", "0000000000000001.ndjson"));
  const scopes = bus.trimEnd().split("\n").map((line) => JSON.parse(line).task_scope);
  assertEquals(new Set(scopes), new Set(["daemon", ...ids]));
  daemon = await place.serve();
  await using client = await SocketClient.connect(daemon.sock);
  const { sub } = await client.call("bus.tail", { session_id: ids[0], since_seq: 0 });
  const { session_id } = await client.event((it) => it.sub === sub && it.type === "turn.completed");
  assertEquals(session_id, ids[0]);
  assertEquals(new Set(client.events.map((it) => it.session_id)), new Set([ids[0]]));
});

row("product", SECTION, "daemon.toml, 0600, optional: operator configuration", async () => {
  // This file's daemon has none.
  assertEquals(exists(inHome("daemon.toml")), false);
  await using place = new Place();
  place.configure('[http]\nallowed_origins = ["http://localhost:5173"]\n');
  const daemon = await place.serve();
  await daemon.stop();
  Deno.chmodSync(join(place.home, "daemon.toml"), 0o644);
  const wide = await place.svc(["serve"]);
  assertEquals(wide.code, 1);
  assertStringIncludes(wide.stderr, "daemon.toml");
});

for (
  const [namespace, verb] of [
    ["session.*", "session.list"],
    ["lanes.*", "lanes.list"],
    ["cortex.*", "cortex.notes"],
    ["bus.tail", "bus.tail"],
  ]
) {
  row("product", CATALOG, `verbs of ${namespace}`, async () => {
    await using client = await shared.socket();
    const session_id = await client.session({ workdir: shared.workdir() });
    await client.call(verb, verb === "session.list" ? {} : { session_id });
  });
}
