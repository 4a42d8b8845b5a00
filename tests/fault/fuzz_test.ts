/**
 * Whatever comes in at a door, the daemon answers with the right class of error or closes the
 * connection, and goes on. SVC_FUZZ=20000 is the full run; SVC_FUZZ_SEED repeats one.
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { TextLineStream } from "@std/streams";
import { writeAll } from "../../src/base/write_all.ts";
import { Random } from "../support/random.ts";
import { CLOSE, rawHttp, RawWebSocket, TEXT } from "../support/raw.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";
import { checkHttp, httpText } from "./fuzz/http.ts";
import { expectedOf, rpcText } from "./fuzz/json.ts";
import { closing, frame, type FrameOptions, frames } from "./fuzz/websocket.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const setting = (name: string) => can_run_svc ? Deno.env.get(name) : undefined;
const INPUTS = Number(setting("SVC_FUZZ") ?? 1_000);
const WARM_UP = 400;
const MB = 1024 * 1024;
const GROWTH_MAX = 48 * MB;
const REST_MS = 45_000;
const ANSWER_MS = 15_000;
const HEALTH = '{"jsonrpc":"2.0","id":"health","method":"daemon.health"}';
/** Shares of the doors, of 100. */
const SHARES = { websocket: 32, socket: 24, rpc: 14, http: 20, frames: 10 };

const encoder = new TextEncoder();

/** One byte a character, both ways. */
function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (it) => it.charCodeAt(0));
}
function fromBytes(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return text;
}

/**
 * Reads until the other side closes, says nothing for `quiet_ms`, or `enough` is there.
 *
 * @param first_ms how long the first bytes may take.
 */
async function readAll(
  conn: Deno.Conn,
  quiet_ms: number,
  enough: (received: string) => boolean = () => false,
  first_ms = quiet_ms,
): Promise<{ received: string; ended: boolean }> {
  const chunk = new Uint8Array(64 * 1024);
  let received = "";
  while (!enough(received)) {
    const timer = Promise.withResolvers<"quiet">();
    const patience = received === "" ? first_ms : quiet_ms;
    const timeout = setTimeout(() => timer.resolve("quiet"), patience);
    const reading = conn.read(chunk).catch(() => null);
    const read = await Promise.race([reading, timer.promise]);
    clearTimeout(timeout);
    if (read === null) return { received, ended: true };
    if (read === "quiet") {
      conn.close();
      await reading;
      return { received, ended: false };
    }
    received += fromBytes(chunk.subarray(0, read));
  }
  return { received, ended: false };
}

function closeQuietly(conn: { close(): void }): void {
  try {
    conn.close();
  } catch {
    // Closed already.
  }
}

/**
 * Sends bytes over a connection of their own and gives what came back.
 *
 * @param first_ms how long the answer may take, where one is due.
 */
async function exchange(
  port: number,
  bytes: Uint8Array,
  quiet_ms: number,
  { half = false, first_ms = quiet_ms } = {},
) {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    // An answer may come, and the connection end, before everything is sent.
    const sending = writeAll(conn, bytes).then(() => half ? conn.closeWrite() : undefined)
      .catch(() => {});
    const answer = await readAll(conn, quiet_ms, undefined, first_ms);
    closeQuietly(conn);
    await sending;
    return answer;
  } finally {
    closeQuietly(conn);
  }
}

/** Rejects when it takes too long: an answer that is due and does not come. */
async function inTime<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no answer in ${ANSWER_MS} ms to ${what.slice(0, 400)}`)),
    ANSWER_MS,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The answers of a long-lived connection, without what it pushes. */
class Answers {
  #waiting: PromiseWithResolvers<string>[] = [];
  #there: string[] = [];
  #closed = false;

  take(text: string): void {
    if (text.startsWith('{"jsonrpc":"2.0","method":"$/')) return;
    const waiting = this.#waiting.shift();
    if (waiting) waiting.resolve(text);
    else this.#there.push(text);
  }

  end(): void {
    this.#closed = true;
    for (const it of this.#waiting) it.reject(new Error("the connection was closed"));
  }

  next(): Promise<string> {
    const text = this.#there.shift();
    if (text !== undefined) return Promise.resolve(text);
    if (this.#closed) return Promise.reject(new Error("the connection was closed"));
    const waiting = Promise.withResolvers<string>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }
}

/** Says one text and gives its answer, if one is due; what comes unasked fails the next one. */
interface Speaker extends AsyncDisposable {
  say(text: string, due: boolean): Promise<string | undefined>;
}

async function overWebSocket(daemon: Daemon): Promise<Speaker> {
  const socket = new WebSocket(`${daemon.url.replace("http", "ws")}/v1/ws`, [
    "svc.bearer",
    daemon.token,
    "svc.proto.v1",
  ]);
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const answers = new Answers();
  socket.onopen = () => opened.resolve();
  socket.onmessage = ({ data }) => answers.take(data);
  socket.onclose = () => {
    answers.end();
    closed.resolve();
  };
  await opened.promise;
  return {
    async say(text, due) {
      socket.send(text);
      if (due) return await answers.next();
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      await closed.promise;
    },
  };
}

async function overSocket(daemon: Daemon): Promise<Speaker> {
  const conn = await Deno.connect({ transport: "unix", path: daemon.sock });
  const answers = new Answers();
  const reading = (async () => {
    const lines = conn.readable.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    for await (const line of lines) if (line !== "") answers.take(line);
  })().catch(() => {}).finally(() => answers.end());
  return {
    async say(text, due) {
      await writeAll(conn, encoder.encode(`${text}\n`));
      if (due) return await answers.next();
    },
    async [Symbol.asyncDispose]() {
      closeQuietly(conn);
      await reading;
    },
  };
}

function overHttp(daemon: Daemon): Speaker {
  return {
    async say(text, due) {
      const response = await fetch(`${daemon.url}/v1/rpc`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${daemon.token}`,
          "content-type": "application/json",
        },
        body: text,
      });
      const body = await response.text();
      assertEquals(response.status, due ? 200 : 204, body.slice(0, 300));
      return due ? body : undefined;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** What the daemon reads of a text: lone surrogates cannot be sent; a line is trimmed. */
function asRead(text: string, door: keyof typeof SHARES): string {
  const sent = new TextDecoder().decode(encoder.encode(text));
  return door === "socket" ? sent.replaceAll("\n", " ").trim() : sent;
}

/** Sends random inputs at every door and checks what comes back. */
class Fuzzer {
  readonly #daemon: Daemon;
  readonly #random: Random;
  readonly #addressed: readonly string[];
  readonly counts: Record<string, number> = {};

  constructor(daemon: Daemon, random: Random, addressed: readonly string[]) {
    this.#daemon = daemon;
    this.#random = random;
    this.#addressed = addressed;
  }

  async run(inputs: number): Promise<void> {
    const daemon = this.#daemon;
    let speakers = await this.#connect();
    try {
      for (let n = 0; n < inputs; n++) {
        const door = this.#door();
        this.counts[door] = (this.counts[door] ?? 0) + 1;
        if (door === "http") await this.#http();
        else if (door === "frames") await this.#frames();
        else await this.#rpc(speakers[door], door);
        if (n % 100 === 99) assertEquals((await daemon.http("GET", "/v1/health")).status, 200);
        // So that what connections leave behind shows.
        if (n % 250 === 249) {
          await this.#disconnect(speakers);
          speakers = await this.#connect();
        }
      }
    } finally {
      await this.#disconnect(speakers);
    }
  }

  async #connect() {
    const daemon = this.#daemon;
    return {
      websocket: await overWebSocket(daemon),
      socket: await overSocket(daemon),
      rpc: overHttp(daemon),
    };
  }

  async #disconnect(speakers: Record<string, Speaker>): Promise<void> {
    for (const it of Object.values(speakers)) await it[Symbol.asyncDispose]();
  }

  #door(): keyof typeof SHARES {
    let at = this.#random.below(100);
    for (const [door, share] of Object.entries(SHARES)) {
      if ((at -= share) < 0) return door as keyof typeof SHARES;
    }
    return "http";
  }

  async #rpc(speaker: Speaker, door: "websocket" | "socket" | "rpc"): Promise<void> {
    const text = asRead(rpcText(this.#random, this.#addressed), door);
    // An empty line is none.
    if (door === "socket" && text === "") return;
    const { due, check } = expectedOf(text);
    const what = `${door}: ${text.length} characters: ${text.slice(0, 1_000)}`;
    const answer = await inTime(speaker.say(text, due), what);
    if (answer === undefined) return;
    try {
      check(answer);
    } catch (error) {
      throw new Error(`${what}\nwas answered ${answer.slice(0, 600)}`, { cause: error });
    }
  }

  async #http(): Promise<void> {
    const { port, token } = this.#daemon;
    const text = httpText(this.#random, this.#daemon);
    const half = this.#random.chance(0.5);
    const { received } = await exchange(port, toBytes(text), 12, { half });
    try {
      checkHttp(text, received, token);
    } catch (error) {
      throw new Error(`${JSON.stringify(text.slice(0, 2_000))}\n${received.slice(0, 600)}`, {
        cause: error,
      });
    }
  }

  async #frames(): Promise<void> {
    const bytes = frames(this.#random);
    const { codes, texts } = await sendFrames(this.#daemon, [bytes], 12);
    const what = Array.from(bytes.subarray(0, 200), (it) => it.toString(16)).join(" ");
    for (const text of texts) {
      const { jsonrpc, result, error } = JSON.parse(text);
      assertEquals([jsonrpc, (result ?? error) !== undefined], ["2.0", true], what);
    }
    for (const code of codes) assert([1000, 1002, 1003, 1007, 1009].includes(code) || code >= 1000);
  }
}

interface FramesAnswer {
  texts: string[];
  /** Of the close frames that came. */
  codes: number[];
  /** Opcodes of all frames that came. */
  opcodes: number[];
  ended: boolean;
}

/** Sends frames over a WebSocket of their own and gives the frames that came back. */
async function sendFrames(
  daemon: Daemon,
  pieces: Uint8Array[],
  quiet_ms: number,
  first_ms = quiet_ms,
): Promise<FramesAnswer> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: daemon.port });
  try {
    await writeAll(conn, toBytes(handshake(daemon)));
    const head = await readAll(conn, ANSWER_MS, (it) => it.includes("\r\n\r\n"));
    assert(head.received.startsWith("HTTP/1.1 101"), head.received);
    const sending = (async () => {
      for (const it of pieces) await writeAll(conn, it);
    })().catch(() => {});
    const { received, ended } = await readAll(conn, quiet_ms, undefined, first_ms);
    closeQuietly(conn);
    await sending;
    return { ...readFrames(toBytes(received)), ended };
  } finally {
    closeQuietly(conn);
  }
}

/** Takes the server's frames apart; they must be what RFC 6455 says. */
function readFrames(bytes: Uint8Array): Omit<FramesAnswer, "ended"> {
  const texts: string[] = [];
  const codes: number[] = [];
  const opcodes: number[] = [];
  const view = new DataView(bytes.buffer);
  for (let at = 0; at + 2 <= bytes.length;) {
    const [first, second] = [bytes[at], bytes[at + 1]];
    assertEquals(first & 0xf0, 0x80, "whole frames without reserved bits");
    const opcode = first & 0x0f;
    assert([1, 8, 9, 10].includes(opcode), `opcode ${opcode}`);
    assert(second < 0x80, "a server does not mask");
    const length = second < 126
      ? second
      : second === 126
      ? view.getUint16(at + 2)
      : Number(view.getBigUint64(at + 2));
    at += second < 126 ? 2 : second === 126 ? 4 : 10;
    const payload = bytes.subarray(at, at + length);
    if (payload.length < length) break;
    opcodes.push(opcode);
    if (opcode === TEXT) texts.push(new TextDecoder().decode(payload));
    if (opcode === CLOSE && length >= 2) codes.push(view.getUint16(at));
    at += length;
  }
  return { texts, codes, opcodes };
}

function descriptors({ pid }: Daemon): number {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
}

/** Waits until descriptors and memory are back below the bounds, or for long enough. */
async function settle(daemon: Daemon, fds: number, rss: number, timeout_ms: number) {
  const until = Date.now() + timeout_ms;
  while (Date.now() < until && (descriptors(daemon) > fds || daemon.rss() > rss)) await delay(500);
  return { fds: descriptors(daemon), rss: daemon.rss() };
}

const mb = (bytes: number) => `${(bytes / MB).toFixed(1)} MB`;

/** What the daemon logged at level error. */
function errorsIn(place: Place): string[] {
  return Deno.readTextFileSync(join(place.home, "log", "daemon.ndjson")).split("\n")
    .filter((line) => line.includes('"level":"error"'));
}

/** Sessions of a daemon: ones that are left alone and ones that are sent anything. */
async function begin(place: Place) {
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const start = async (name: string) => {
    const workdir = place.mkdir(name);
    const { session_id } = await client.rpc.call("session.start", { workdir });
    const path = join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
    return { session_id, path };
  };
  const left_alone = [];
  for (let n = 0; n < 3; n++) {
    const it = await start(`alone-${n}`);
    await client.rpc.call("session.subscribe", { session_id: it.session_id, since_seq: 0 });
    await client.turn(it.session_id, "help");
    left_alone.push({ ...it, text: Deno.readTextFileSync(it.path) });
  }
  // Its index stays open from then on.
  await client.rpc.call("session.search", { query: "help" });
  const addressed = [
    (await start("addressed-0")).session_id,
    (await start("addressed-1")).session_id,
  ];
  return { daemon, left_alone, addressed };
}

Deno.test({
  name: `${INPUTS} random inputs at every door: answered rightly or refused, and nothing is left`,
  ignore,
  async fn() {
    const seed = Number(setting("SVC_FUZZ_SEED") ?? Math.floor(Math.random() * 1e9));
    console.log(`SVC_FUZZ_SEED=${seed}`);
    await using place = new Place();
    const { daemon, left_alone, addressed } = await begin(place);
    await new Fuzzer(daemon, new Random(seed + 1), addressed).run(WARM_UP);
    const before = await settle(daemon, 0, 0, 3_000);

    const started = performance.now();
    const fuzzer = new Fuzzer(daemon, new Random(seed), addressed);
    await fuzzer.run(INPUTS).catch((cause) => {
      throw new Error(`SVC_FUZZ_SEED=${seed} shows it again`, { cause });
    });
    const took = (performance.now() - started) / 1000;
    const worked = { fds: descriptors(daemon), rss: daemon.rss() };
    const after = await settle(daemon, before.fds + 2, before.rss + GROWTH_MAX, REST_MS);
    console.log(
      `${INPUTS} inputs in ${took.toFixed(1)} s ${JSON.stringify(fuzzer.counts)}; descriptors ` +
        `${before.fds}, then ${worked.fds}, at rest ${after.fds}; RSS ${mb(before.rss)}, then ` +
        `${mb(worked.rss)}, at rest ${mb(after.rss)}`,
    );
    assert(after.fds <= before.fds + 2, `${after.fds} descriptors`);
    assert(after.rss <= before.rss + GROWTH_MAX, `grew by ${mb(after.rss - before.rss)}`);
    for (const { path, text } of left_alone) assertEquals(Deno.readTextFileSync(path), text);
    const { json } = await daemon.http("GET", "/v1/sessions?include_ended=true");
    assertEquals(errorsIn(place), []);
    await using client = await daemon.rpc();
    // None was made, except that some seeds fork a session; some delete one that was addressed.
    const listed = (json.sessions as { id: string }[]).map(({ id }) => id);
    const known = new Set([...left_alone.map(({ session_id }) => session_id), ...addressed]);
    for (const session_id of listed.filter((id) => !known.has(id))) {
      const { events } = await client.rpc.call("session.history", { session_id, limit: 2 });
      assert(events.some(({ type }: { type: string }) => type === "session.forked"));
    }
    for (const { session_id } of left_alone) assert(listed.includes(session_id));
    // They are as good as before.
    const [{ session_id }] = left_alone;
    await client.rpc.call("session.subscribe", { session_id });
    assertEquals((await client.turn(session_id, "help")).data.stop_reason, "ok");
  },
});

Deno.test({
  name: "depth bombs, large batches and messages that end early, at every door",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon, left_alone } = await begin(place);
    const deep = (open: string, close: string, depth = 1e6) =>
      open.repeat(depth) + "1" + close.repeat(depth);
    const get = (params: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"session.get","params":${params}}`;
    const bombs: [string, number][] = [
      [deep("[", "]"), -32600],
      [deep('{"a":', "}"), -32600],
      ["[".repeat(1e6), -32700],
      ['{"a":'.repeat(1e6), -32700],
      [`{"jsonrpc":"2.0","id":${deep("[", "]")},"method":"daemon.health"}`, -32600],
      [`{"jsonrpc":"2.0","id":1,"method":${deep("[", "]")}}`, -32600],
      [get(deep("[", "]")), -32602],
      [get(`{"session_id":${deep('{"a":', "}")}}`), -32602],
      [get(`{"__proto__":${deep('{"__proto__":', "}", 5e5)}}`), -32602],
      [`[${"1,".repeat(4_000_000)}1]`, -32600],
      [`[${"[],".repeat(1_000)}1]`, -32600],
      [`[${`${get("{}")},`.repeat(1_000)}1]`, -32600],
      ['"' + "\\u0000".repeat(1_000_000) + '"', -32600],
      ["9".repeat(1_000_000), -32600],
      ["", -32700],
      ["\0".repeat(1_000), -32700],
    ];
    for (
      const [door, speaker] of Object.entries({
        websocket: await overWebSocket(daemon),
        socket: await overSocket(daemon),
        rpc: overHttp(daemon),
      })
    ) {
      await using _ = speaker;
      for (const [text, code] of bombs) {
        if (text === "" && door === "socket") continue;
        const what = `${door} ${text.slice(0, 60)}`;
        const answer = JSON.parse((await inTime(speaker.say(text, true), what))!);
        const error = Array.isArray(answer) ? answer[0].error : answer.error;
        assertEquals([error.code, typeof error.data.svc_code], [code, "string"], what);
      }
      assertEquals(JSON.parse((await speaker.say(HEALTH, true))!).result.status, "ok");
    }
    const json = { authorization: `Bearer ${daemon.token}`, "content-type": "application/json" };
    for (const [body] of bombs.filter(([text]) => text !== "")) {
      const answer = await rawHttp(daemon.port, "POST", "/v1/sessions", json, body);
      assertEquals([answer.status, JSON.parse(answer.body).error.code], [400, "validation"]);
    }
    for (const { path, text } of left_alone) assertEquals(Deno.readTextFileSync(path), text);
    assertEquals(errorsIn(place), []);
  },
});

Deno.test({
  name: "lines of the local socket: NULs, CRLF, broken UTF-8, no newline, one side closed",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon } = await begin(place);
    const say = async (...pieces: (string | Uint8Array)[]) => {
      using conn = await Deno.connect({ transport: "unix", path: daemon.sock });
      for (const it of pieces) {
        await writeAll(conn, typeof it === "string" ? encoder.encode(it) : it);
      }
      await conn.closeWrite();
      const { received } = await readAll(conn, ANSWER_MS);
      return received.trimEnd().split("\n").filter((it) => it !== "").map((it) => JSON.parse(it));
    };
    const codes = async (...pieces: (string | Uint8Array)[]) =>
      (await say(...pieces)).map(({ error, result }) => error?.code ?? result.status);
    assertEquals(await codes(`${HEALTH}\r\n\r\n\n \n${HEALTH}\n`), ["ok", "ok"]);
    assertEquals(await codes(HEALTH.slice(0, 20), HEALTH.slice(20), "\n"), ["ok"]);
    assertEquals(await codes("\0\0\n", "\0" + HEALTH + "\n", HEALTH + "\n"), [
      -32700,
      -32700,
      "ok",
    ]);
    assertEquals(await codes(new Uint8Array([0xff, 0xfe, 0x0a]), HEALTH + "\n"), [-32700, "ok"]);
    // Broken UTF-8 within a string is a character of its own, as everywhere on the web.
    const method = toBytes('{"jsonrpc":"2.0","id":1,"method":"\xc3\x28\xff"}\n');
    assertEquals(await codes(method), [-32601]);
    // A line without its end was not sent to its end.
    assertEquals(await codes(HEALTH), []);
    assertEquals(await codes("x".repeat(1_000_000)), []);
    // Who has sent everything and closes that side is still answered, also where it takes a while.
    const workdir = place.mkdir("half");
    const start = { jsonrpc: "2.0", id: 7, method: "session.start", params: { workdir } };
    const [{ id, result }] = await say(`${JSON.stringify(start)}\n`);
    assertEquals([id, result.workdir], [7, workdir]);
    assertEquals(errorsIn(place), []);
  },
});

Deno.test({
  name: "a peer that asks and never reads costs bounded memory, on the socket and a WebSocket",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon } = await begin(place);
    const method = "x".repeat(200_000);
    const request = `{"jsonrpc":"2.0","id":1,"method":"${method}"}`;
    const before = daemon.rss();
    const unread = async (conn: Deno.Conn, message: Uint8Array) => {
      let taken = 0;
      const flood = (async () => {
        for (let n = 0; n < 1_500; n++) {
          await writeAll(conn, message);
          taken++;
        }
      })().catch(() => {});
      const enough = new AbortController();
      const waited = delay(4_000, enough).catch(() => {});
      await Promise.race([flood, waited]);
      enough.abort();
      const peak = daemon.rss();
      assertEquals((await daemon.http("GET", "/v1/health")).status, 200);
      const until_then = taken;
      // A write that waits does not end with its connection: what is unread is read.
      const chunk = new Uint8Array(MB);
      let flooding = true;
      flood.finally(() => flooding = false);
      while (flooding && (await conn.read(chunk).catch(() => null)) !== null);
      closeQuietly(conn);
      await flood;
      return { taken: until_then, grown: peak - before };
    };
    const unix = await unread(
      await Deno.connect({ transport: "unix", path: daemon.sock }),
      encoder.encode(`${request}\n`),
    );
    const conn = await Deno.connect({ hostname: "127.0.0.1", port: daemon.port });
    await writeAll(conn, toBytes(handshake(daemon)));
    const websocket = await unread(conn, frame(TEXT, request));
    console.log(
      `of 1500 requests of 200 kB the socket took ${unix.taken} (${mb(unix.grown)} more), ` +
        `the WebSocket ${websocket.taken} (${mb(websocket.grown)} more)`,
    );
    assertLess(unix.taken, 600);
    assertLess(unix.grown, 200 * MB);
    assertLess(websocket.grown, 250 * MB);
    assertEquals(errorsIn(place), []);
  },
});

function handshake({ port, token }: Daemon, without: string[] = [], more: string[] = []): string {
  return [
    "GET /v1/ws HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Connection: keep-alive, Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `Sec-WebSocket-Protocol: svc.bearer, ${token}, svc.proto.v1`,
    ...more,
    "",
    "",
  ].filter((line) => !without.some((it) => line.startsWith(it))).join("\r\n");
}

Deno.test({
  name: "known malformed HTTP: each is refused, alone on its connection",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon } = await begin(place);
    const { port, token } = daemon;
    const host = `Host: 127.0.0.1:${port}`;
    const auth = `Authorization: Bearer ${token}`;
    const json = "Content-Type: application/json";
    const lines = (...all: string[]) => [...all, "", ""].join("\r\n");
    const post = (body: string, ...headers: string[]) =>
      lines("POST /v1/rpc HTTP/1.1", host, auth, json, ...headers) + body;
    const get = (path: string, ...headers: string[]) =>
      lines(`GET ${path} HTTP/1.1`, host, auth, ...headers);
    const chunked = "Transfer-Encoding: chunked";
    // What the HTTP layer refuses by itself has no body; what comes to a route has one.
    const cases: [string, string, number][] = [
      ["TLS", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400],
      ["no version", "GET /\r\n\r\n", 400],
      ["an unknown version", lines("GET / HTTP/2.0", host), 400],
      ["no Host", lines("GET /v1/health HTTP/1.1"), 403],
      ["an empty Host", lines("GET /v1/health HTTP/1.1", "Host:"), 403],
      ["two Hosts", lines("GET /v1/health HTTP/1.1", host, "Host: evil.example"), 403],
      ["two Hosts, the other first", lines("GET /v1/health HTTP/1.1", "Host: a", host), 403],
      ["a Host with user", lines("GET /v1/health HTTP/1.1", `Host: x@127.0.0.1:${port}`), 403],
      [
        "an absolute target",
        lines(`GET http://127.0.0.1:${port}/v1/health HTTP/1.1`, "Host: a"),
        403,
      ],
      ["CONNECT with a path", lines("CONNECT /v1/health HTTP/1.1", host), 400],
      ["CONNECT", lines("CONNECT 127.0.0.1:1 HTTP/1.1", host), 403],
      ["a target for the server", lines("OPTIONS * HTTP/1.1", host), 404],
      ["TRACE", lines("TRACE / HTTP/1.1", host), 404],
      ["raw bytes in the path", get("/v1/\xff\xfe"), 400],
      ["a long path", get(`/${"a".repeat(70_000)}`), 414],
      ["a large header", get("/v1/health", `X: ${"a".repeat(MB)}`), 431],
      ["many headers", get("/v1/health", ...Array(5_000).fill("X: y")), 431],
      ["a folded header", get("/v1/health", "X: a\r\n b"), 400],
      ["a space before the colon", get("/v1/health", "X : a"), 400],
      ["a bare CR", get("/v1/health", "X: a\rb"), 400],
      ["a NUL in a header", get("/v1/health", "X: a\0b"), 400],
      ["a length that is no number", post("{}", "Content-Length: abc"), 400],
      ["a negative length", post("{}", "Content-Length: -1"), 400],
      ["a signed length", post("{}", "Content-Length: +2"), 400],
      ["two lengths", post("{}", "Content-Length: 2", "Content-Length: 3"), 400],
      ["a list of lengths", post("{}", "Content-Length: 2, 2"), 400],
      ["an unknown coding", post("2\r\n{}\r\n0\r\n\r\n", "Transfer-Encoding: xchunked"), 400],
      ["chunked not last", post("0\r\n\r\n", "Transfer-Encoding: chunked, identity"), 400],
      ["a chunk size that is none", post("zz\r\n{}\r\n0\r\n\r\n", chunked), 400],
      ["a chunk size that overflows", post("fffffffffffffffff\r\n{}\r\n", chunked), 400],
      ["a chunk longer than it says", post("1\r\n{}\r\n0\r\n\r\n", chunked), 400],
      [
        "no content type",
        lines("POST /v1/rpc HTTP/1.1", host, auth, "Content-Length: 2") + "{}",
        415,
      ],
      ["a bad escape", get("/v1/sessions/%ff%zz"), 400],
      ["an escaped NUL", get("/v1/sessions/%00"), 400],
      ["an upgrade without a key", handshake(daemon, ["Sec-WebSocket-Key"]), 400],
      [
        "an upgrade of another version",
        handshake(daemon, ["Sec-WebSocket-V"], ["Sec-WebSocket-Version: 8"]),
        400,
      ],
      [
        "an upgrade with a short key",
        handshake(daemon, ["Sec-WebSocket-K"], ["Sec-WebSocket-Key: a"]),
        400,
      ],
      ["an upgrade without Connection", handshake(daemon, ["Connection"]), 400],
      ["an upgrade by HEAD", handshake(daemon).replace("GET", "HEAD"), 400],
      ["an upgrade by POST", handshake(daemon).replace("GET", "POST"), 404],
    ];
    const due = { first_ms: ANSWER_MS };
    for (const [what, text, status] of cases) {
      const { received } = await exchange(port, toBytes(text), 60, due);
      const [first] = checkHttp(text, received, token);
      assertEquals([what, first?.status], [what, status], received.slice(0, 300));
    }

    // A length beside chunks counts for nothing, and what is smuggled behind is a request of its own.
    const smuggled = post(
      "2\r\n{}\r\n0\r\n\r\nGET /v1/discover HTTP/1.1\r\nHost: evil.example\r\n\r\n",
      "Content-Length: 4",
      chunked,
    );
    const { received } = await exchange(port, toBytes(smuggled), 4_000, due);
    assertEquals(checkHttp("", received, token).map((it) => it.status), [200, 403]);
    // Pipelined requests are answered in order, up to the one that is none.
    const pipeline = get("/v1/health") + get("/v1/nothing") + post("{}", "Content-Length: 2") +
      get("/v1/health", "X : a") + get("/v1/health");
    const { received: piped, ended } = await exchange(port, toBytes(pipeline), ANSWER_MS);
    const answers = checkHttp("", piped, token).map((it) => it.status);
    assertEquals([answers, ended], [[200, 404, 200, 400], true]);
    // Header injection: what is in a path or a parameter stays there.
    const injected = get("/v1/sessions/a%0d%0aX-Injected:%20yes");
    checkHttp(injected, (await exchange(port, toBytes(injected), 60, due)).received, token);
    // A client that leaves in the middle of a body is no error of ours.
    await exchange(port, toBytes(post('{"js', "Content-Length: 50")), 30);
    await exchange(port, toBytes(post('5\r\n{"js', chunked)), 30, { half: true });
    // An answer to HEAD ends; its event stream was never begun.
    const [session] = (await daemon.http("GET", "/v1/sessions")).json.sessions;
    const fds = descriptors(daemon);
    for (let n = 0; n < 50; n++) {
      const head = get(`/v1/sessions/${session.id}/events?since_seq=0`).replace("GET", "HEAD");
      const [{ status }] = checkHttp(
        head,
        (await exchange(port, toBytes(head), 5, due)).received,
        token,
      );
      assertEquals(status, 200);
    }
    assert((await settle(daemon, fds + 2, Infinity, REST_MS)).fds <= fds + 2);
    assertEquals((await daemon.http("GET", "/v1/health")).status, 200);
    assertEquals(errorsIn(place), []);
  },
});

Deno.test({
  name: "known malformed WebSocket frames close their own connection, with the code that fits",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon } = await begin(place);
    const send = (...pieces: Uint8Array[]) => sendFrames(daemon, pieces, 400, ANSWER_MS);
    /** What has to end the connection. */
    const sendToEnd = (...pieces: Uint8Array[]) => sendFrames(daemon, pieces, ANSWER_MS);
    const start = (payload: string | Uint8Array) => frame(TEXT, payload, { fin: false });
    const more = (payload: string | Uint8Array, fin = true) => frame(0, payload, { fin });
    const half = HEALTH.length / 2;
    // Whole, in parts, with control frames between the parts, a character across two parts.
    assertEquals((await send(frame(TEXT, HEALTH))).texts.length, 1);
    const between = [start(HEALTH.slice(0, half)), frame(9, "p"), more(HEALTH.slice(half))];
    const parts = await sendFrames(daemon, between, 4_000, ANSWER_MS);
    assertEquals([parts.opcodes, parts.texts.length], [[10, TEXT], 1]);
    const split = await send(
      start('{"é'.slice(0, 2)),
      more(toBytes("\xc3"), false),
      more(toBytes("\xa9")),
    );
    assertEquals(JSON.parse(split.texts[0]).error.code, -32700);
    assertEquals((await send(frame(10, "unasked"), frame(TEXT, HEALTH))).texts.length, 1);

    const closes: [string, Uint8Array, number][] = [
      ["binary", frame(2, HEALTH), 1003],
      ["8 MiB + 1", frame(TEXT, "x".repeat(8 * MB + 1)), 1009],
      ["8 MiB + 1 of three bytes each", frame(TEXT, "\u20ac".repeat(8 * MB / 3 + 1)), 1009],
      ["a close is answered", frame(CLOSE, closing(1000)), 1000],
      ["a close with a code of one's own", frame(CLOSE, closing(4000, "bye")), 4000],
      ["a close with a reserved code", frame(CLOSE, closing(1005)), 1002],
      ["a close with no such code", frame(CLOSE, closing(999)), 1002],
    ];
    for (const [what, bytes, code] of closes) {
      const answer = await send(bytes);
      assertEquals([what, answer.codes, answer.texts], [what, [code], []]);
    }
    // These the WebSocket layer cuts off by itself, without a close frame.
    const options = (it: FrameOptions) => frame(TEXT, HEALTH, it);
    const cut: [string, ...Uint8Array[]][] = [
      ["reserved bit 1", options({ reserved: 4 })],
      ["reserved bit 3", options({ reserved: 1 })],
      ["reserved opcode", frame(3, HEALTH)],
      ["reserved control opcode", frame(11)],
      ["a continuation of nothing", more(HEALTH)],
      ["a text within a text", start("{"), frame(TEXT, HEALTH)],
      ["a ping in parts", frame(9, "x", { fin: false })],
      ["a ping of 126 bytes", frame(9, "x".repeat(126))],
      ["a close of one byte", frame(CLOSE, "x")],
      ["a close with a broken reason", frame(CLOSE, toBytes("\x03\xe8\xff"))],
      ["broken UTF-8", frame(TEXT, toBytes("\xff\xfe"))],
      ["a surrogate as UTF-8", frame(TEXT, toBytes("\xed\xa0\x80"))],
      ["broken UTF-8 in parts", start(toBytes("\xc3")), more(toBytes("\x28"))],
      ["a length of 2 ** 63", options({ claimed: 2n ** 63n })],
      ["a length of a terabyte", options({ claimed: 2n ** 40n })],
      ["more than 64 MiB", options({ claimed: 65n * 2n ** 20n })],
    ];
    // All at once: it takes two seconds until such a connection has ended.
    const answers = await Promise.all(cut.map(async ([what, ...pieces]) => {
      return { what, ...await sendToEnd(...pieces) };
    }));
    for (const { what, ended, texts, codes } of answers) {
      const allowed = codes.every((code) => [1002, 1007, 1009].includes(code));
      assertEquals([what, ended, texts, allowed], [what, true, [], true]);
    }
    using socket = (await RawWebSocket.open(daemon.port, {
      protocols: `svc.bearer, ${daemon.token}, svc.proto.v1`,
    })).socket!;
    await socket.send(TEXT, HEALTH);
    assertEquals((await socket.json()).result.status, "ok");
    assertEquals(errorsIn(place), []);
  },
});

Deno.test({
  name: "500 connections that say nothing, or their headers one byte at a time, hold up nobody",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon } = await begin(place);
    const { port, sock } = daemon;
    const before = { fds: descriptors(daemon), rss: daemon.rss() };
    const conns: Deno.Conn[] = [];
    try {
      for (let n = 0; n < 250; n++) {
        conns.push(await Deno.connect({ hostname: "127.0.0.1", port }));
        conns.push(await Deno.connect({ transport: "unix", path: sock }));
        const slow = await Deno.connect({ hostname: "127.0.0.1", port });
        conns.push(slow);
        await writeAll(slow, toBytes("GET /v1/health HTTP/1.1\r\nHos"));
      }
      const byte = toBytes("a");
      const slowly = (async () => {
        for (let n = 0; n < 10; n++) {
          for (const it of conns) if (it.remoteAddr.transport === "tcp") await writeAll(it, byte);
          await delay(20);
        }
      })();
      let slowest = 0;
      await using client = await daemon.rpc();
      for (let n = 0; n < 50; n++) {
        const started = performance.now();
        assertEquals((await daemon.http("GET", "/v1/health")).status, 200);
        assertEquals((await client.rpc.call("daemon.health")).status, "ok");
        slowest = Math.max(slowest, performance.now() - started);
      }
      await slowly;
      const during = { fds: descriptors(daemon), rss: daemon.rss() };
      console.log(
        `${conns.length} silent connections: ${mb(during.rss - before.rss)} more, ` +
          `${during.fds - before.fds} descriptors; the slowest of 50 answers took ` +
          `${slowest.toFixed(0)} ms`,
      );
      assertLess(during.rss - before.rss, 80 * MB);
      // Held up it would be until the silent ones are given up; a busy machine takes its time, too.
      assertLess(slowest, 10_000);
    } finally {
      for (const it of conns) it.close();
    }
    const after = await settle(daemon, before.fds + 2, Infinity, REST_MS);
    assert(after.fds <= before.fds + 2, `${after.fds} descriptors, ${before.fds} before`);
    assertEquals(errorsIn(place), []);
  },
});
