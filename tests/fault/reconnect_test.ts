/**
 * Subscribers whose connection is cut again and again while sessions stream, and ones that stop
 * reading: what each has in the end is the journal. SVC_RECONNECTS=200 is the full run.
 */
import { assert, assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { writeAll } from "../../src/base/write_all.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { decodeRecord } from "../../src/session/record.ts";
import { instantDeltas, startOpenAiServer } from "../support/model_servers.ts";
import { Random } from "../support/random.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";
import { frame } from "./fuzz/websocket.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const setting = (name: string) => can_run_svc ? Deno.env.get(name) : undefined;
const CUTS = Number(setting("SVC_RECONNECTS") ?? 25);
const SESSIONS = 50;
const PACE_MS = 50;
/** Between two cuts of one subscriber, on average. */
const A_CUT_MS = 110;
const DELTAS = Math.max(60, Math.ceil(CUTS * A_CUT_MS / PACE_MS));
/** For who stops reading: together far more than what may wait anywhere. */
const TURNS = 5;
const A_TURN = 250;
/** Two sessions of the same work, and 1,024 events of 6 kB in two forms that may wait. */
const GROWTH_MAX = 128 * 1024 * 1024;
const MB = 1024 * 1024;

const encoder = new TextEncoder();

/** What a connection brought: an event of a session, or the end of a subscription. */
interface Message {
  session_id?: string;
  event?: SessionEvent;
  ended?: { code?: number; svc_code: string; last_seq: number };
}

/** A connection of one subscriber, which it may cut at any time. */
interface Link {
  /** What came next; undefined when the connection is gone. */
  read(): Promise<Message[] | undefined>;
  cut(): void;
}

/** Subscribes to sessions, to each from what the subscriber has of it. */
type Connect = (daemon: Daemon, since: ReadonlyMap<string, number>) => Promise<Link>;

function fromRpc(text: string): Message | undefined {
  const it = JSON.parse(text);
  if (it.method === "$/event") {
    const { session_id, seq, at, type, data } = it.params;
    return { session_id, event: { seq, at, type, data } as SessionEvent };
  }
  if (it.method === "$/subscription_ended") {
    const { code, data } = it.params.error;
    return { ended: { code, svc_code: data.svc_code, last_seq: data.last_seq } };
  }
  assert(it.error === undefined, JSON.stringify(it));
  return undefined;
}

function subscriptions(since: ReadonlyMap<string, number>): string[] {
  return [...since].map(([session_id, since_seq], n) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: n,
      method: "session.subscribe",
      params: { session_id, since_seq },
    })
  );
}

function closeQuietly(conn: { close(): void }): void {
  try {
    conn.close();
  } catch {
    // Closed already.
  }
}

/** Reads an HTTP answer's head, and nothing of what follows. */
async function readHead(conn: Deno.Conn): Promise<string> {
  let head = "";
  const byte = new Uint8Array(1);
  while (!head.endsWith("\r\n\r\n")) {
    if (await conn.read(byte) === null) throw new Error(`the connection ended: ${head}`);
    head += String.fromCharCode(byte[0]);
  }
  return head;
}

/** Reads a connection; `take` gives the whole messages at the front and how many bytes they were. */
function link(
  conn: Deno.Conn,
  take: (bytes: Uint8Array) => { texts: string[]; used: number },
  toMessage: (text: string) => Message | undefined = fromRpc,
): Link {
  const chunk = new Uint8Array(256 * 1024);
  let rest: Uint8Array = new Uint8Array();
  return {
    async read() {
      const read = await conn.read(chunk).catch(() => null);
      if (read === null) return undefined;
      const both = new Uint8Array(rest.length + read);
      both.set(rest);
      both.set(chunk.subarray(0, read), rest.length);
      const { texts, used } = take(both);
      rest = both.slice(used);
      return texts.map(toMessage).filter((it) => it !== undefined);
    },
    cut: () => closeQuietly(conn),
  };
}

const overSocket: Connect = async (daemon, since) => {
  const conn = await Deno.connect({ transport: "unix", path: daemon.sock });
  await writeAll(conn, encoder.encode(subscriptions(since).map((it) => `${it}\n`).join("")));
  return link(conn, (bytes) => {
    const used = bytes.lastIndexOf(0x0a) + 1;
    const lines = new TextDecoder().decode(bytes.subarray(0, used)).split("\n");
    return { texts: lines.filter((it) => it !== ""), used };
  });
};

const overWebSocket: Connect = async (daemon, since) => {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: daemon.port });
  await writeAll(
    conn,
    encoder.encode(
      [
        "GET /v1/ws HTTP/1.1",
        `Host: 127.0.0.1:${daemon.port}`,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        `Sec-WebSocket-Protocol: svc.bearer, ${daemon.token}, svc.proto.v1`,
        "",
        "",
      ].join("\r\n"),
    ),
  );
  assertStringIncludes(await readHead(conn), " 101 ");
  for (const it of subscriptions(since)) await writeAll(conn, frame(1, it));
  return link(conn, (bytes) => {
    const texts: string[] = [];
    const view = new DataView(bytes.buffer);
    let used = 0;
    while (used + 2 <= bytes.length) {
      const short = bytes[used + 1];
      const start = used + (short < 126 ? 2 : short === 126 ? 4 : 10);
      if (start > bytes.length) break;
      const length = short < 126
        ? short
        : short === 126
        ? view.getUint16(used + 2)
        : Number(view.getBigUint64(used + 2));
      if (start + length > bytes.length) break;
      if (bytes[used] === 0x81) {
        texts.push(new TextDecoder().decode(bytes.subarray(start, start + length)));
      }
      used = start + length;
    }
    return { texts, used };
  });
};

function fromSse(block: string): Message | undefined {
  const data = block.match(/^data: ?(.*)$/m)?.[1];
  if (data === undefined) return undefined;
  const { error, session_id, seq, at, type, data: said } = JSON.parse(data);
  if (error) return { ended: { svc_code: error.code, last_seq: error.details.last_seq } };
  assertEquals(block.match(/^id: ?(.*)$/m)?.[1], String(seq));
  return { session_id, event: { seq, at, type, data: said } as SessionEvent };
}

/** One session: an event stream has no more. HTTP/1.0, which has no chunks to take apart. */
const overSse: Connect = async (daemon, since) => {
  const [[session_id, last_seq]] = since;
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: daemon.port });
  const request = [
    `GET /v1/sessions/${session_id}/events HTTP/1.0`,
    `Host: 127.0.0.1:${daemon.port}`,
    `Authorization: Bearer ${daemon.token}`,
    `Last-Event-ID: ${last_seq}`,
    "",
    "",
  ];
  await writeAll(conn, encoder.encode(request.join("\r\n")));
  assertStringIncludes(await readHead(conn), " 200 OK");
  return link(conn, (bytes) => {
    const text = new TextDecoder().decode(bytes);
    const end = text.lastIndexOf("\n\n") + 2;
    if (end < 2) return { texts: [], used: 0 };
    const used = encoder.encode(text.slice(0, end)).length;
    return { texts: text.slice(0, end).split("\n\n"), used };
  }, fromSse);
};

/** Keeps the events of its sessions over any number of connections. */
class Subscriber {
  readonly name: string;
  readonly #connect: Connect;
  readonly seen: Map<string, SessionEvent[]>;
  ended: Message["ended"];
  #link: Link | undefined;
  #reading: Promise<void> = Promise.resolve();
  received = 0;

  constructor(name: string, connect: Connect, sessions: readonly string[]) {
    this.name = name;
    this.#connect = connect;
    this.seen = new Map(sessions.map((id) => [id, []]));
  }

  async connect(daemon: Daemon): Promise<void> {
    const since = new Map([...this.seen].map(([id, events]) => [id, events.at(-1)?.seq ?? 0]));
    const link = this.#link = await this.#connect(daemon, since);
    this.#reading = (async () => {
      // What comes after a cut is not looked at, as if it had not come.
      for (let all; this.#link === link && (all = await link.read()) !== undefined;) {
        if (this.#link === link) { for (const it of all) this.#take(it); }
      }
    })();
  }

  #take({ session_id, event, ended }: Message): void {
    if (ended) this.ended = ended;
    if (event === undefined) return;
    const events = this.seen.get(session_id!)!;
    assertEquals(event.seq, (events.at(-1)?.seq ?? 0) + 1, `${this.name}: no gap, no repeat`);
    events.push(event);
    this.received++;
  }

  /** Ends the connection without a word. */
  async cut(): Promise<void> {
    this.#link?.cut();
    this.#link = undefined;
    await this.#reading;
  }

  /** Waits until it has that many events of each session. */
  async reach(last: ReadonlyMap<string, number>, timeout_ms = 30_000): Promise<void> {
    const until = Date.now() + timeout_ms;
    for (const [id, events] of this.seen) {
      while ((events.at(-1)?.seq ?? 0) < last.get(id)!) {
        if (Date.now() > until) {
          throw new Error(`${this.name}: ${id} is at ${events.at(-1)?.seq}, not ${last.get(id)}`);
        }
        await delay(10);
      }
    }
  }
}

function journalOf(workdir: string, session_id: string): SessionEvent[] {
  const path = join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
  return Deno.readTextFileSync(path).trimEnd().split("\n").map(decodeRecord);
}

/** A place whose sessions talk to a server at that URL. */
function placeFor(url: string): Place {
  const place = new Place();
  place.useLocalModel(url);
  return place;
}

Deno.test({
  name:
    `subscribers cut ${CUTS} times while ${SESSIONS} sessions stream have the journal in the end`,
  ignore,
  async fn() {
    const seed = Number(setting("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9));
    console.log(`SVC_TEST_SEED=${seed}`);
    const server = startOpenAiServer(instantDeltas(DELTAS, { pace_ms: PACE_MS }), {
      open: true,
      capture: false,
    });
    await using place = placeFor(server.url);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdirs = new Map<string, string>();
    for (let n = 0; n < SESSIONS; n++) {
      const workdir = place.mkdir(`work-${n}`);
      const start = { workdir, model: "local/m", approval: "auto" };
      workdirs.set((await client.rpc.call("session.start", start)).session_id, workdir);
    }
    const ids = [...workdirs.keys()];
    const subscribers = [
      new Subscriber("socket", overSocket, ids),
      new Subscriber("websocket", overWebSocket, ids),
      ...ids.slice(0, 4).map((id) => new Subscriber(`sse ${id}`, overSse, [id])),
    ];
    const started = performance.now();
    for (const session_id of ids) await client.rpc.call("session.send", { session_id, text: "go" });

    let during_replay = 0;
    let from_start = 0;
    await Promise.all(subscribers.map(async (it, n) => {
      const random = new Random(seed + n);
      for (let cut = 0; cut < CUTS; cut++) {
        // Now and then one that has lost everything: a replay that is long enough to be cut in.
        if (random.chance(0.1)) {
          for (const events of it.seen.values()) events.length = 0;
          from_start++;
        }
        await it.connect(daemon);
        await delay(random.chance(0.4) ? random.below(15) : random.below(2 * A_CUT_MS));
        const behind = [...it.seen].some(([, events]) => events.length === 0);
        if (behind) during_replay++;
        await it.cut();
      }
    }));
    const cut_for = (performance.now() - started) / 1000;

    const last = new Map<string, number>();
    for (const session_id of ids) {
      for (;;) {
        const { activity, last_seq } = await client.rpc.call("session.get", { session_id });
        last.set(session_id, last_seq);
        if (activity === "idle") break;
        await delay(100);
      }
    }
    for (const it of subscribers) {
      await it.connect(daemon);
      await it.reach(last);
      await it.cut();
      for (const [id, events] of it.seen) {
        assertEquals(events, journalOf(workdirs.get(id)!, id), `${it.name} ${id}`);
      }
    }
    for (const events of subscribers[0].seen.values()) {
      const deltas = events.filter((event) => event.type === "session.delta").length;
      assert(deltas > 0 && events.at(-1)!.type !== "session.delta");
    }
    console.log(
      `${subscribers.length * CUTS} cuts in ${cut_for.toFixed(1)} s, ${during_replay} before a ` +
        `replay had reached every session, ${from_start} from the start; ` +
        `${subscribers.reduce((sum, it) => sum + it.received, 0)} events delivered`,
    );
    await server.close();
  },
});

for (
  const [name, connect] of Object.entries({
    socket: overSocket,
    websocket: overWebSocket,
    sse: overSse,
  })
) {
  Deno.test({
    name:
      `a subscriber over ${name} that stops reading is closed with its last seq, and loses nothing`,
    ignore: ignore || Deno.build.os !== "linux",
    async fn() {
      const answer = { text: Array(A_TURN).fill("x".repeat(6_000)), pace_ms: 1 };
      const server = startOpenAiServer(() => answer, { open: true, capture: false });
      await using place = placeFor(server.url);
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      const begin = async (name: string) => {
        const workdir = place.mkdir(name);
        const start = { workdir, model: "local/m", approval: "auto" };
        return { workdir, session_id: (await client.rpc.call("session.start", start)).session_id };
      };
      /** Carries out all turns; gives the last seq and the most memory the daemon took. */
      const work = async (session_id: string) => {
        let peak = 0;
        let last_seq = 0;
        const sampler = setInterval(() => peak = Math.max(peak, daemon.rss()), 50);
        for (let n = 0; n < TURNS; n++) {
          await client.rpc.call("session.send", { session_id, text: "go" });
          for (let got; (got = await client.rpc.call("session.get", { session_id }));) {
            last_seq = got.last_seq;
            if (got.activity === "idle") break;
            await delay(50);
          }
        }
        clearInterval(sampler);
        return { peak, last_seq };
      };
      // The same without it shows what the work itself takes.
      const alone = await work((await begin("alone")).session_id);

      const { session_id, workdir } = await begin("watched");
      const { last_seq: since } = await client.rpc.call("session.get", { session_id });
      const stalled = await connect(daemon, new Map([[session_id, since]]));
      await delay(100);
      const { peak, last_seq } = await work(session_id);

      const events: SessionEvent[] = [];
      let ended: Message["ended"];
      const done = () => ended !== undefined || events.at(-1)?.seq === last_seq;
      for (let all; !done() && (all = await stalled.read()) !== undefined;) {
        for (const it of all) {
          if (it.event) events.push(it.event);
          ended ??= it.ended;
        }
      }
      stalled.cut();
      assert(
        ended !== undefined,
        `it was not closed, and has ${events.length} of ${last_seq - since}`,
      );
      assertEquals(ended.svc_code, "crash_recovery");
      if (name !== "sse") assertEquals(ended.code, -32008);
      assertEquals(ended.last_seq, events.at(-1)!.seq);
      assertLess(ended.last_seq, last_seq);

      const again = new Subscriber(name, connect, [session_id]);
      again.seen.set(session_id, journalOf(workdir, session_id).slice(0, since).concat(events));
      await again.connect(daemon);
      await again.reach(new Map([[session_id, last_seq]]));
      await again.cut();
      assertEquals(again.seen.get(session_id), journalOf(workdir, session_id));
      const grown = peak - alone.peak;
      console.log(
        `${name}: ${events.length} of ${last_seq - since} events before it was closed; ` +
          `the daemon took ${(grown / MB).toFixed(1)} MB more than without it`,
      );
      assertLess(grown, GROWTH_MAX);
      await server.close();
    },
  });
}
