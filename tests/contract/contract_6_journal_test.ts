import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { dirname, join } from "@std/path";
import { hasProgram } from "../support/programs.ts";
import { Place } from "../support/svc.ts";
import {
  connect,
  event,
  follow,
  http,
  journalOf,
  mode,
  records,
  Shared,
  STAMP,
} from "./contract_kit.ts";
import type { Json } from "./client.ts";
import { traced } from "./trace.ts";
import { row } from "./row.ts";
import { eventually } from "./shared.ts";

const it = new Shared("[journal]\nretention_mb = 0.2\n");

function section6(name: string, fn: () => void | Promise<void>, options?: { ignore?: boolean }) {
  row("contract", "6 Journal", name, fn, options);
}

const untraced = { ignore: Deno.build.os !== "linux" || !hasProgram("strace") };

/** A followed session of the shared daemon. */
async function begin(params: Json = {}) {
  const { session_id, workdir } = await it.session({ approval: "auto", ...params });
  const client = await connect(it);
  await follow(client, session_id);
  return { session_id, workdir, client, path: journalOf(workdir, session_id) };
}

section6('{"v":1,"seq":n,"at":…,"kind":…, …fields}, one line an event', async () => {
  const { session_id, client, path } = await begin();
  await using _ = client;
  await client.turn(session_id, "ls\nhelp");
  const text = Deno.readTextFileSync(path);
  assert(text.endsWith("\n"));
  const lines = text.trimEnd().split("\n");
  assertEquals(lines.length, client.events.length);
  for (const [n, line] of lines.entries()) {
    assertMatch(line, /^\{"v":1,"seq":\d+,"at":"[^"]+","kind":"[a-z_.]+"[,}]/);
    const { v, seq, at, kind } = JSON.parse(line);
    const { type, at: pushed_at } = client.events[n];
    assertEquals({ v, seq, at, kind }, { v: 1, seq: n + 1, at: pushed_at, kind: type });
    assertMatch(at, STAMP);
  }
});

section6("a record's fields are the event's data", async () => {
  const { session_id, client, path } = await begin();
  await using _ = client;
  await client.turn(session_id, "ls");
  for (const [n, record] of records(path).entries()) {
    for (const [key, value] of Object.entries(client.events[n].data)) {
      // A field that the envelope has too (kind of a lane, at) cannot stand under its own name.
      if (["v", "seq", "at", "kind"].includes(key)) continue;
      assertEquals(record[key], value, `${record.kind} ${key}`);
    }
  }
});

section6("UTF-8: text comes back as it went in", async () => {
  const { session_id, client, path } = await begin();
  await using _ = client;
  const text = 'help ä 漢 🜁 \u2028 \u0000 \\ " \n x';
  await client.turn(session_id, text);
  const bytes = Deno.readFileSync(path);
  const journal = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  const message = journal.trimEnd().split("\n").map((line) => JSON.parse(line))
    .find(({ kind }) => kind === "user.message");
  assertEquals(message.text, text);
});

/** The last whole record of a journal: the next one may be on its way into it. */
function lastWhole(path: string): Json {
  const text = Deno.readTextFileSync(path);
  return JSON.parse(text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1)!);
}

section6("written before fan-out: what is seen is in the journal", async () => {
  const { session_id, client, path } = await begin();
  await using _ = client;
  await client.call("session.send", { session_id, text: "ls\n".repeat(20) });
  let seen = 0;
  for (let over = false; !over;) {
    await client.message((_, at) => at >= seen);
    seen = client.messages.length;
    const last = client.events.at(-1);
    over = client.events.some(({ type }) => type === "turn.completed");
    if (last === undefined) continue;
    const found = lastWhole(path).seq;
    assert(found >= last.seq, `seq ${last.seq} was seen, the journal has ${found}`);
  }
});

section6("0600, directories 0700", async () => {
  const { client, path, workdir } = await begin();
  await using _ = client;
  assertEquals(mode(path), "0600");
  for (let dir = dirname(path); dir !== workdir; dir = dirname(dir)) {
    assertEquals(mode(dir), "0700", dir);
  }
});

section6(".svc/ in a workdir gets a .gitignore of *", async () => {
  const { client, workdir } = await begin();
  await using _ = client;
  assertEquals(Deno.readTextFileSync(join(workdir, ".svc", ".gitignore")).trim(), "*");
});

for (
  const [kind, act] of [
    ["turn.completed", "session.send"],
    ["session.paused", "session.pause"],
    ["session.ended", "session.kill"],
  ]
) {
  section6(`fsync on ${kind}`, async () => {
    const { session_id, client, path } = await begin();
    await using _ = client;
    const params = { session_id, ...(act === "session.send" ? { text: "help" } : {}) };
    const trace = await traced(it.pid, "fsync,fdatasync", async () => {
      await client.call(act, params);
      await event(client, kind);
    });
    assertStringIncludes(trace, path);
    assertEquals(records(path).filter((each) => each.kind === kind).length, 1);
  }, untraced);
}

section6("retention: temporary file, fsync, rename, fsync of the directory", async () => {
  const { session_id, client, path } = await begin();
  await using _ = client;
  const calls = "fsync,fdatasync,rename,renameat,renameat2";
  const flushed = (lines: string[], of: string) =>
    lines.some((line) => /f(data)?sync/.test(line) && line.includes(`<${of}>`));
  const renaming = (lines: string[]) =>
    lines.findIndex((line) => line.includes("rename") && line.includes(`"${path}"`));
  const trace = await traced(it.pid, calls, async (traceSoFar) => {
    for (let n = 0; n < 80 && records(path)[0].kind !== "session.checkpoint"; n++) {
      await client.turn(session_id, `run head -c 9000 /dev/zero | tr '\\0' z; echo ${n}`);
    }
    // The directory follows the rename.
    await eventually(() => {
      const lines = traceSoFar().split("\n");
      return renaming(lines) >= 0 && flushed(lines.slice(renaming(lines)), dirname(path));
    });
  });
  const lines = trace.split("\n");
  const renamed = renaming(lines);
  assert(renamed >= 0, "the journal was not replaced by a rename");
  const [, temporary] = lines[renamed].match(/"([^"]+)"/)!;
  assert(flushed(lines.slice(0, renamed), temporary), `${temporary} was not flushed before`);
  assert(flushed(lines.slice(renamed), dirname(path)), "the directory was not flushed after");
}, untraced);

/** Two sessions of a daemon that has stopped; the journal of the first is changed. */
async function damaged(place: Place, change: (text: string) => string) {
  const daemon = await place.serve();
  const workdir = place.mkdir("w");
  const start = async () => {
    const body = { workdir, model: "builtin/toolbelt" };
    return (await http(daemon, "POST", "/v1/sessions", { body })).json.session_id;
  };
  const [id, other] = [await start(), await start()];
  await using client = await connect(daemon);
  await follow(client, id);
  await client.turn(id, "help");
  await daemon.stop();
  const path = journalOf(workdir, id);
  const text = change(Deno.readTextFileSync(path));
  Deno.writeTextFileSync(path, text);
  const after = await place.serve();
  const { sessions } = (await http(after, "GET", "/v1/sessions?include_ended=true")).json;
  const item = (of: string) => sessions.find((each: { id: string }) => each.id === of);
  return { id, other, path, text, after, item: item(id), other_item: item(other) };
}

section6("a torn last line is cut off on opening and reported", async () => {
  await using place = new Place();
  const torn = '{"v":1,"seq":99,"at":"2026-0';
  const { id, path, after, item } = await damaged(place, (text) => text + torn);
  assertEquals(item.state, "running");
  await using client = await connect(after);
  await follow(client, id);
  await client.turn(id, "help");
  assert(!Deno.readTextFileSync(path).includes(torn));
  assertEquals(records(path).map(({ seq }) => seq), records(path).map((_, n) => n + 1));
  await after.stop();
  const log = Deno.readTextFileSync(join(place.home, "log", "daemon.ndjson"));
  const told = log.split("\n").filter((line) => line.includes(id) || line.includes(path));
  assert(told.some((line) => /torn|cut/i.test(line)), told.join("\n"));
});

section6("a torn last record that ends in the middle of a character is cut off too", async () => {
  await using place = new Place();
  const { item, path } = await damaged(place, (text) => text + '{"v":1,"seq":99');
  assertEquals(item.state, "running");
  for (const record of records(path)) assert(record.seq < 99);
});

const BAD: [string, (text: string) => string, RegExp][] = [
  ["a bad line in the middle", (text) => {
    const lines = text.split("\n");
    lines[1] = '{"v":1,"seq":2,';
    return lines.join("\n");
  }, /line 2|JSON|seq/],
  ["a gap in the seqs", (text) => {
    const lines = text.split("\n");
    return [lines[0], ...lines.slice(2)].join("\n");
  }, /seq|event/],
  ["a newer v", (text) => text.replaceAll('{"v":1,', '{"v":2,'), /version|v/],
];
for (const [what, change, says] of BAD) {
  section6(`${what}: this one is unreadable, kept, listed with the reason, untouched`, async () => {
    await using place = new Place();
    const { id, other, path, text, after, item, other_item } = await damaged(place, change);
    assertEquals([item.id, item.state], [id, "unreadable"]);
    assertMatch(item.reason, says);
    assertEquals(Deno.readTextFileSync(path), text);
    assertEquals(other_item.state, "running");
    const sent = await http(after, "POST", `/v1/sessions/${other}/messages`, {
      body: { text: "help" },
    });
    assertEquals(sent.status, 202);
    const refused = await http(after, "POST", `/v1/sessions/${id}/messages`, {
      body: { text: "help" },
    });
    assert(refused.status >= 400, String(refused.status));
    await after.stop();
    assertEquals(Deno.readTextFileSync(path), text);
  });
}

section6("past the limit: one session.checkpoint record; seq never restarts", async () => {
  const { session_id, client, path } = await begin();
  await using _ = client;
  await client.turn(session_id, "help");
  const totals = async () => {
    const got = await client.call("session.get", { session_id });
    return [got.messages_count, got.tokens_in, got.tokens_out, got.cost_usd];
  };
  let checkpoint: Json;
  let before: Json = [];
  for (let n = 0; n < 80; n++) {
    await client.turn(session_id, `run head -c 9000 /dev/zero | tr '\\0' y; echo ${n}`);
    before = await totals();
    [checkpoint] = records(path);
    if (checkpoint.kind === "session.checkpoint") break;
  }
  const all = records(path);
  assertEquals(checkpoint.kind, "session.checkpoint");
  assertEquals([checkpoint.v, all.filter(({ kind }) => kind === checkpoint.kind).length], [1, 1]);
  assertEquals(all.map(({ seq }) => seq), all.map((_, n) => checkpoint.seq + n));
  assert(JSON.stringify(checkpoint).includes("help"), "the transcript so far is in it");
  assert(Deno.statSync(path).size < 400_000);
  assertEquals(mode(path), "0600");
  // What was written beside it is gone; nothing was cut out of what subscribers saw.
  const names = [...Deno.readDirSync(dirname(path))].map(({ name }) => name);
  assertEquals(names.filter((name) => /tmp|temp|\.new/.test(name)), []);
  assertEquals(client.events.map(({ seq }) => seq), client.events.map((_, n) => n + 1));
  assertEquals(await totals(), before);
  const { messages } = await client.call("session.transcript", { session_id });
  assertStringIncludes(JSON.stringify(messages[0]), "help");
  await client.turn(session_id, "help");
});

section6(
  "at rest longer than the limit: it keeps its checkpoint, resuming still works",
  async () => {
    await using place = new Place();
    place.configure("[journal]\nretention_hours = 1\n");
    const { id, path, after } = await damaged(
      place,
      (text) => text.replaceAll(/"at":"\d{4}-[^"]*"/g, '"at":"2020-01-01T00:00:00.000Z"'),
    );
    for (let n = 0; n < 200 && records(path)[0].kind !== "session.checkpoint"; n++) await delay(50);
    assertEquals(records(path)[0].kind, "session.checkpoint");
    await using client = await connect(after);
    await client.call("session.pause", { session_id: id });
    await client.call("session.resume", { session_id: id });
    await client.call("session.subscribe", { session_id: id });
    await client.call("session.send", { session_id: id, text: "ls" });
    assertEquals((await event(client, "turn.completed")).data.stop_reason, "ok");
    const { messages } = await client.call("session.transcript", { session_id: id });
    assertStringIncludes(JSON.stringify(messages[0]), "help");
  },
);
