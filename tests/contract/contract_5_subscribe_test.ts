import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { TextLineStream } from "@std/streams";
import { Place } from "../support/svc.ts";
import { SocketClient, WsClient } from "./client.ts";
import {
  assertHttpError,
  assertRpcError,
  connect,
  event,
  follow,
  http,
  journalOf,
  records,
  Shared,
} from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared("[journal]\nretention_mb = 0.2\n");

function section5(name: string, fn: () => void | Promise<void>) {
  row("contract", "5 subscribe", name, fn);
}

const NONE = `sess_${"0".repeat(26)}`;
const upTo = (last: number, from = 1) =>
  Array.from({ length: last - from + 1 }, (_, n) => from + n);

section5("session.subscribe {session_id, since_seq?} → {sub: int, current_seq}", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  const first = await client.call("session.subscribe", { session_id });
  const second = await client.call("session.subscribe", { session_id });
  for (const each of [first, second]) {
    assertEquals(Object.keys(each).sort(), ["current_seq", "sub"]);
    assert(Number.isInteger(each.sub));
    assertEquals(each.current_seq, (await client.call("session.get", { session_id })).last_seq);
  }
  assert(first.sub !== second.sub);
});

section5("every event with seq > since_seq, exactly once, in order", async () => {
  const { session_id } = await it.session({ prompt: "help" });
  await using client = await connect(it);
  await follow(client, session_id);
  const last = (await event(client, "turn.completed")).seq;
  for (const since_seq of [0, 1, 3, last - 1]) {
    await using later = await connect(it);
    await later.call("session.subscribe", { session_id, since_seq });
    await later.event(({ seq }) => seq === last);
    assertEquals(later.events.map(({ seq }) => seq), upTo(last, since_seq + 1));
    assertEquals(
      later.events.map(({ type, data, at }) => ({ type, data, at })),
      client.events.slice(since_seq).map(({ type, data, at }) => ({ type, data, at })),
    );
  }
});

section5("replay strictly before live, joining at any moment of a turn", async () => {
  const { session_id } = await it.session({ approval: "auto" });
  await using client = await connect(it);
  await follow(client, session_id);
  const turn = client.turn(session_id, "ls\n".repeat(12) + "run echo done");
  const late: SocketClient[] = [];
  try {
    for (let n = 0; n < 8; n++) {
      const one = await connect(it);
      late.push(one);
      await follow(one, session_id);
    }
    const { seq: last } = await turn;
    for (const one of late) {
      await one.event(({ seq }) => seq === last);
      assertEquals(one.events.map(({ seq }) => seq).filter((seq) => seq <= last), upTo(last));
    }
  } finally {
    for (const one of late) await one[Symbol.asyncDispose]();
  }
});

section5("since_seq left out: from now on", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  const { current_seq } = await client.call("session.subscribe", { session_id });
  const { seq } = await client.turn(session_id, "help");
  assertEquals(client.events.map(({ seq }) => seq), upTo(seq, current_seq + 1));
});

section5("since_seq: below 0, no integer: -32602; an unknown session: -32002", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  for (const since_seq of [-1, 1.5, "1"]) {
    const { code } = await client.fails("session.subscribe", { session_id, since_seq });
    assertEquals(code, -32602);
  }
  const error = await client.fails("session.subscribe", { session_id: NONE });
  assertRpcError(error, -32002, "not_found");
});

section5("unsubscribe {sub} ends this one and no other", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  const [one, two] = [await follow(client, session_id), await follow(client, session_id)];
  await client.call("session.unsubscribe", { sub: one });
  const { seq: after } = await client.call("session.send", { session_id, text: "help" });
  await event(client, "turn.completed");
  const live = client.events.filter(({ seq }) => seq >= after);
  assertEquals([...new Set(live.map(({ sub }) => sub))], [two]);
});

section5("over the WebSocket the same", async () => {
  const { session_id } = await it.session({ prompt: "help" });
  await using client = await WsClient.connect(it.port, it.token);
  await follow(client, session_id);
  const { seq } = await event(client, "turn.completed");
  assertEquals(client.events.map(({ seq }) => seq), upTo(seq));
});

section5("one that cannot keep up: -32008, its last delivered seq; it loses nothing", async () => {
  await using place = new Place();
  place.configure("[agent]\nmax_steps = 1000\n");
  const daemon = await place.serve();
  const workdir = place.mkdir("w");
  for (let n = 0; n < 60; n++) {
    Deno.writeTextFileSync(join(workdir, `${"n".repeat(150)}-${n}`), "");
  }
  const body = { workdir, model: "builtin/toolbelt", approval: "auto" };
  const { session_id } = (await http(daemon, "POST", "/v1/sessions", { body })).json;
  const slow = await Deno.connect({ transport: "unix", path: daemon.sock });
  const ask = (id: number, params: unknown) =>
    slow.write(new TextEncoder().encode(
      JSON.stringify({ jsonrpc: "2.0", id, method: "session.subscribe", params }) + "\n",
    ));
  await ask(1, { session_id, since_seq: 0 });
  await using client = await connect(daemon);
  await client.call("session.subscribe", { session_id, deltas: "session" });
  for (let n = 0; n < 30; n++) await client.turn(session_id, "ls\n".repeat(40));
  const { last_seq } = await client.call("session.get", { session_id });

  const seqs: number[] = [];
  let told: string | undefined;
  try {
    const lines = slow.readable.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    for await (const line of lines) {
      if (line.includes("-32008")) {
        told = line;
        break;
      }
      const { method, params } = JSON.parse(line);
      if (method === "$/event") seqs.push(params.seq);
      if (seqs.at(-1) === last_seq) break;
    }
  } finally {
    try {
      slow.close();
    } catch {
      // The stream has closed it.
    }
  }
  assert(told !== undefined, `${seqs.length} events of ${last_seq} came and no -32008`);
  assert(told.includes("crash_recovery"), told);
  const last = seqs.at(-1) ?? 0;
  assertEquals(seqs, upTo(last));
  assert(new RegExp(`"last_[a-z_]*seq":${last}\\b`).test(told), `${told} after ${last}`);
  await using again = await connect(daemon);
  await again.call("session.subscribe", { session_id, since_seq: last });
  await again.event(({ seq }) => seq === last_seq, "the last event", 30_000);
  assertEquals(again.events.map(({ seq }) => seq), upTo(last_seq, last + 1));
});

/** A session whose journal was trimmed, and the first seq that is left. */
async function trimmed() {
  const { session_id, workdir } = await it.session({ approval: "auto" });
  await using client = await connect(it);
  await client.call("session.subscribe", { session_id });
  const path = journalOf(workdir, session_id);
  for (let n = 0; n < 80; n++) {
    await client.turn(session_id, `run head -c 9000 /dev/zero | tr '\\0' x; echo ${n}`);
    const [first] = records(path);
    if (first.kind === "session.checkpoint") {
      return { session_id, workdir, path, oldest: first.seq + 1 };
    }
  }
  throw new Error("the journal was not trimmed");
}

section5("a since_seq older than retention kept: -32011 with oldest_seq", async () => {
  const { session_id, oldest } = await trimmed();
  await using client = await connect(it);
  const error = await client.fails("session.subscribe", { session_id, since_seq: 0 });
  assertRpcError(error, -32011, "journal_trimmed");
  const given = Number(JSON.stringify(error.data).match(/"oldest_seq":(\d+)/)?.[1]);
  assert(given >= oldest, JSON.stringify(error.data));
  await client.call("session.subscribe", { session_id, since_seq: given - 1 });
  const { last_seq } = await client.call("session.get", { session_id });
  await client.event(({ seq }) => seq === last_seq);
  assertEquals(client.events.map(({ seq }) => seq), upTo(last_seq, given));
});

section5("a since_seq older than retention kept: HTTP 410 with oldest_seq", async () => {
  const { session_id, oldest } = await trimmed();
  const path = `/v1/sessions/${session_id}/events`;
  for (const headers of [new Headers(), new Headers({ "last-event-id": "1" })]) {
    const answer = await http(it, "GET", `${path}?since_seq=0`, { headers });
    assertHttpError(answer, 410, "journal_trimmed");
    assert(answer.json.error.details.oldest_seq >= oldest, answer.text);
  }
});
