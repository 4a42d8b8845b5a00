/** product.md, Daemon restart sequence, the events that belong to it, and its versioning rules. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { beforeTests } from "../support/before_tests.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { type Json, type JsonRpc, SocketClient, SseReader, WsClient } from "./client.ts";
import { row } from "./row.ts";
import { createSession, http, isTimestamp, journalPath, readJournal } from "./shared.ts";

const SECTION = "Daemon restart sequence";
const EVENTS = "Events";
const VERSIONING = "Versioning";

/** What was seen of one restart: by three subscribers, on the disk and afterwards. */
interface Seen {
  /** What the old daemon recorded of the requests to stop. */
  shutdowns: Json[];
  /** The types and seqs that each subscriber got from the old daemon. */
  subscribers: { type: string; seq: number }[][];
  /** The journals once the old daemon had gone, a line an entry. */
  journals: Json[][];
  /** The same journals after the restart. */
  journals_after: Json[][];
  exit_code: number;
  indexed: Json;
  sessions_before: Json[];
  sessions_after: Json[];
  transcripts: Json[][];
  pids: [number, number];
  /** What a client gets that comes back with the last seq it had. */
  resumed: { type: string; seq: number; data: Json }[];
  resumed_sse: string[];
  last_seq: number;
  version: string;
  /** How the command that restarted it ended. */
  code: number;
}

let seen: Seen;

beforeTests(async () => {
  if (can_run_svc) seen = await watchRestart();
});

async function watchRestart(): Promise<Seen> {
  await using place = new Place();
  const daemon = await place.serve();
  const ids: string[] = [];
  const paths: string[] = [];
  const transcripts: Json[][] = [[], []];
  const subscribers: { type: string; seq: number }[][] = [];
  let sessions_before: Json[];
  let code: number;
  {
    await using client = await SocketClient.connect(daemon.sock);
    await using ws = await WsClient.connect(daemon.port, daemon.token);
    for (const name of ["one", "two"]) {
      const workdir = place.mkdir(name);
      const { session_id } = await createSession(daemon, { workdir });
      ids.push(session_id);
      paths.push(journalPath(workdir, session_id));
      await client.call("session.subscribe", { session_id, since_seq: 0 });
      await client.turn(session_id, `# ${name}\nhelp`);
      transcripts[0].push(await client.call("session.transcript", { session_id }));
    }
    await ws.call("session.subscribe", { session_id: ids[0], since_seq: 0 });
    await using sse = await SseReader.open(`${daemon.url}/v1/sessions/${ids[0]}/events`, {
      authorization: `Bearer ${daemon.token}`,
      "last-event-id": "0",
    });
    sessions_before = (await http(daemon, "GET", "/v1/sessions")).json.sessions;
    const restarted = await place.svc(["serve", "restart"]);
    code = restarted.code;
    while (await sse.next() !== undefined);
    await Promise.all([client.closed, ws.closed]);
    const of = (from: JsonRpc, id: string) =>
      from.events.filter((it) => it.session_id === id).map(({ type, seq }) => ({ type, seq }));
    subscribers.push(of(client, ids[0]), of(client, ids[1]), of(ws, ids[0]));
    // The stream says of itself that it ends; that is no event of the session and has no id.
    const of_session = sse.events.filter(({ id }) => id !== undefined);
    subscribers.push(of_session.map(({ event, id }) => ({ type: event!, seq: Number(id) })));
  }
  const exit_code = (await daemon.ended()).code;
  const record = place.discovery();
  const last_seq = subscribers[0].at(-1)!.seq;
  await using client = await SocketClient.connect(record.sock);
  const [id] = ids;
  await client.call("session.subscribe", { session_id: id, since_seq: last_seq });
  await client.turn(id, "help");
  await client.event((it) => it.type === "turn.completed");
  for (const session_id of ids) {
    transcripts[1].push(await client.call("session.transcript", { session_id }));
  }
  const { events } = await client.call("bus.replay", { from_seq: 1, to_seq: 1_000_000 });
  const shutdowns = events.filter(({ type }: Json) => type === "daemon.shutdown");
  const resumed = client.events.filter((it) => it.session_id === id);
  await using sse = await SseReader.open(
    `http://127.0.0.1:${record.port}/v1/sessions/${id}/events`,
    { authorization: `Bearer ${record.token}`, "last-event-id": String(last_seq) },
  );
  while (sse.events.length < resumed.length) await sse.next();
  const journals_after = paths.map(readJournal);
  return {
    shutdowns,
    subscribers,
    journals: journals_after.map((it) =>
      it.slice(0, it.findIndex(({ kind }) => kind === "daemon.reloaded"))
    ),
    journals_after,
    exit_code,
    indexed: JSON.parse(Deno.readTextFileSync(`${place.home}/sessions-index.json`)),
    sessions_before,
    sessions_after: (await client.call("session.list")).sessions,
    transcripts,
    pids: [daemon.pid, record.pid],
    resumed,
    resumed_sse: sse.events.map((it) => it.id!),
    last_seq,
    version: record.version,
    code,
  };
}

const types = (events: { type: string }[]) => events.map(({ type }) => type);

row("product", SECTION, "1. shutdown request with a grace period of 30 seconds", () => {
  assertEquals(seen.shutdowns.map(({ data }) => data), [{ grace_s: 30 }]);
});

row("product", "Limits", "shutdown grace: 30 seconds, daemon.shutdown in restart", () => {
  assertEquals(seen.shutdowns[0].data.grace_s, 30);
});

row("product", SECTION, "2. session.paused to every active subscriber", () => {
  for (const events of seen.subscribers) assertEquals(types(events).at(-1), "session.paused");
  assertEquals(seen.subscribers.length, 4);
});

row("product", SECTION, "3. flushes every journal to disk", () => {
  for (const journal of seen.journals) assertEquals(journal.at(-1).kind, "session.paused");
  for (const [n, events] of seen.subscribers.slice(0, 2).entries()) {
    assertEquals(seen.journals[n].map(({ seq }) => seq), events.map(({ seq }) => seq));
  }
});

row("product", SECTION, "4. exits with code 0", () => {
  assertEquals(seen.exit_code, 0);
  assertEquals(seen.code, 0);
});

row("product", SECTION, "5. the new daemon rebuilds every session from its journal", () => {
  assertNotEquals(...seen.pids);
  assertEquals(seen.sessions_after.length, seen.sessions_before.length);
  for (const { id, workdir, state } of seen.sessions_before) {
    const after = seen.sessions_after.find((it) => it.id === id);
    assertEquals([after.workdir, after.state], [workdir, state]);
    assert(id in seen.indexed);
  }
  const [before, after] = seen.transcripts;
  for (const [n, { messages }] of before.entries()) {
    assertEquals(after[n].messages.slice(0, messages.length), messages);
  }
});

row("product", SECTION, "6. broadcasts daemon.reloaded", () => {
  for (const journal of seen.journals_after) {
    assertEquals(journal.filter(({ kind }) => kind === "daemon.reloaded").length, 1);
  }
  assert(types(seen.resumed).includes("daemon.reloaded"));
});

row("product", EVENTS, "session.paused: on daemon shutdown, to every subscriber", () => {
  for (const events of seen.subscribers) {
    assertEquals(types(events).filter((it) => it === "session.paused").length, 1);
  }
});

row("product", EVENTS, "session.paused: also written to the journal with a flush", () => {
  for (const journal of seen.journals) assertEquals(journal.at(-1).kind, "session.paused");
});

row("product", EVENTS, "daemon.shutdown: grace_s, integer seconds; 30 in a restart", () => {
  assertEquals(seen.shutdowns[0].data.grace_s, 30);
});

row("product", EVENTS, "daemon.reloaded: at (timestamp), version (build revision)", () => {
  const { data } = seen.resumed.find(({ type }) => type === "daemon.reloaded")!;
  assert(isTimestamp(data.at));
  assertEquals(data.version, seen.version);
});

row("product", EVENTS, "2. daemon.reloaded, then deltas with monotonic seq", () => {
  const got = types(seen.resumed);
  assertEquals(got[0], "daemon.reloaded");
  assert(got.indexOf("session.delta") > 0);
  assertEquals(seen.resumed.map(({ seq }) => seq), got.map((_, n) => seen.last_seq + 1 + n));
});

row("product", VERSIONING, "8. clients resume from the journal: since_seq", () => {
  const journal = seen.journals_after[0].filter(({ seq }) => seq > seen.last_seq);
  assertEquals(seen.resumed.map(({ seq }) => seq), journal.map(({ seq }) => seq));
});

row("product", VERSIONING, "8. clients resume from the journal: Last-Event-ID", () => {
  const journal = seen.journals_after[0].filter(({ seq }) => seq > seen.last_seq);
  assertEquals(seen.resumed_sse, journal.map(({ seq }) => String(seq)));
});

row("product", VERSIONING, "8. upgrades are restart-based: another process, no descriptors", () => {
  assertNotEquals(...seen.pids);
});
