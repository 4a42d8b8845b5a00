/** What the rows of contract.md share: one daemon a file, and clients that add nothing of their own. */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { TextLineStream } from "@std/streams";
import { can_run_svc, Place, svcCommand } from "../support/svc.ts";

// deno-lint-ignore no-explicit-any -- rows look at what they expect
export type Json = any;

/** Where a daemon is. */
export interface At {
  pid: number;
  port: number;
  token: string;
  sock: string;
}

/** A pushed event: the params of `$/event`. */
export interface Pushed {
  sub: number;
  session_id: string;
  seq: number;
  at: string;
  type: string;
  data: Json;
}

/** A daemon that all rows of a file use; started before the first and stopped after the last. */
export class Shared implements At {
  place!: Place;
  pid = 0;
  port = 0;
  token = "";
  sock = "";
  #child?: Deno.ChildProcess;
  #count = 0;

  constructor(toml = "") {
    if (!can_run_svc) return;
    Deno.test.beforeAll(async () => {
      this.place = new Place();
      if (toml !== "") this.place.configure(toml);
      const [program, first] = svcCommand();
      this.#child = new Deno.Command(program, {
        args: [...first, "serve", "--emit-port-stdout"],
        env: this.place.env,
        clearEnv: true,
        cwd: "/",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const lines = this.#child.stdout.pipeThrough(new TextDecoderStream())
        .pipeThrough(new TextLineStream());
      for await (const line of lines) {
        Object.assign(this, JSON.parse(line));
        break;
      }
      assert(this.port > 0, "svc serve did not start");
    });
    Deno.test.afterAll(async () => {
      if (this.#child === undefined) return;
      Deno.kill(this.#child.pid, "SIGKILL");
      await this.#child.status;
      await this.place[Symbol.asyncDispose]();
    });
  }

  /** A new directory to work in. */
  workdir(): string {
    return this.place.mkdir(`work-${++this.#count}`);
  }

  /** A new session; the whole answer. */
  async session(params: Json = {}): Promise<Json> {
    const body = { workdir: this.workdir(), model: "builtin/toolbelt", ...params };
    const { status, json } = await http(this, "POST", "/v1/sessions", { body });
    assertEquals(status, 201, JSON.stringify(json));
    return json;
  }
}

/** One request with the token, unless `token` says otherwise; a body is sent as JSON. */
export async function http(
  at: At,
  method: string,
  path: string,
  options: { body?: Json; text?: string; token?: string | null; headers?: HeadersInit } = {},
) {
  const headers = new Headers(options.headers);
  const token = options.token === undefined ? at.token : options.token;
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  const body = options.text ??
    (options.body === undefined ? undefined : JSON.stringify(options.body));
  if (body !== undefined && !headers.has("content-type")) {
    headers.set("content-type", "application/json");
  }
  const response = await fetch(`http://127.0.0.1:${at.port}${path}`, { method, headers, body });
  const text = await response.text();
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    // No JSON.
  }
  return { status: response.status, headers: response.headers, text, json };
}

/** The error body of section 3, whole. */
export function assertHttpError(
  answer: { status: number; json: Json; text: string },
  status: number,
  code: string,
): void {
  const said = `${answer.status} ${answer.text}`;
  assertEquals([answer.status, answer.json?.error?.code], [status, code], said);
  assertEquals(Object.keys(answer.json), ["error"], said);
  assertEquals(typeof answer.json.error.message, "string", said);
  const known = ["code", "message", "hint", "details"];
  assertEquals(Object.keys(answer.json.error).filter((key) => !known.includes(key)), [], said);
}

/** Newline-delimited JSON-RPC on the local socket. */
export class Wire implements AsyncDisposable {
  /** Pushed events, in the order of their coming. */
  readonly pushed: Pushed[] = [];
  /** All other messages that were not taken yet. */
  readonly answers: Json[] = [];
  /** Everything that came, in order: events as their seq, answers as they are. */
  readonly lines: string[] = [];
  over = false;
  readonly #conn: Deno.Conn;
  readonly #reading: Promise<void>;
  #news = Promise.withResolvers<void>();
  #id = 0;

  private constructor(conn: Deno.Conn) {
    this.#conn = conn;
    this.#reading = this.#read();
  }

  static async open(at: At): Promise<Wire> {
    return new Wire(await Deno.connect({ transport: "unix", path: at.sock }));
  }

  async #read(): Promise<void> {
    try {
      const lines = this.#conn.readable.pipeThrough(new TextDecoderStream())
        .pipeThrough(new TextLineStream());
      for await (const line of lines) {
        const message = JSON.parse(line);
        this.lines.push(line);
        if (message.method === "$/event") this.pushed.push(message.params);
        else this.answers.push(message);
        this.#tell();
      }
    } catch {
      // Closed by either side.
    }
    this.over = true;
    this.#tell();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  /** Waits until `look` finds something. */
  async until<T>(look: () => T | undefined, what: string, timeout_ms = 20_000): Promise<T> {
    const end = Date.now() + timeout_ms;
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      const left = end - Date.now();
      if (this.over || left <= 0) {
        const last = this.lines.slice(-8).map((line) => line.slice(0, 200)).join("\n");
        throw new Error(`${what} did not come${this.over ? ", closed" : ""}; last:\n${last}`);
      }
      const stop = new AbortController();
      await Promise.race([
        this.#news.promise,
        delay(left, { signal: stop.signal }).catch(() => {}),
      ]);
      stop.abort();
    }
  }

  /** Sends this line as it is. */
  async raw(line: string): Promise<void> {
    const bytes = new TextEncoder().encode(line + "\n");
    for (let done = 0; done < bytes.length;) done += await this.#conn.write(bytes.subarray(done));
  }

  /** The next message that is no event. */
  next(): Promise<Json> {
    return this.until(() => this.answers.shift(), "an answer");
  }

  /** One request; the whole answer. */
  async request(method: string, params?: Json): Promise<Json> {
    const id = `r${++this.#id}`;
    await this.raw(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return await this.until(() => {
      const at = this.answers.findIndex((answer) => answer.id === id);
      return at < 0 ? undefined : this.answers.splice(at, 1)[0];
    }, `the answer to ${method}`);
  }

  /** The result of a request that must succeed. */
  async call(method: string, params?: Json): Promise<Json> {
    const answer = await this.request(method, params);
    assert(answer.error === undefined, `${method}: ${JSON.stringify(answer.error)}`);
    return answer.result;
  }

  /** The error of a request that must fail. */
  async fault(method: string, params?: Json): Promise<Json> {
    const answer = await this.request(method, params);
    assert(answer.error !== undefined, `${method}: ${JSON.stringify(answer)}`);
    return answer.error;
  }

  /** Subscribes from the beginning. */
  async follow(session_id: string, more: Json = {}): Promise<number> {
    return (await this.call("session.subscribe", { session_id, since_seq: 0, ...more })).sub;
  }

  /** The first event of a type that fits, past or future. */
  event(
    type: string,
    fits: (data: Json, event: Pushed) => boolean = () => true,
    timeout_ms?: number,
  ) {
    return this.until(
      () => this.pushed.find((event) => event.type === type && fits(event.data, event)),
      type,
      timeout_ms,
    );
  }

  /** The events of a type. */
  of(type: string): Pushed[] {
    return this.pushed.filter((event) => event.type === type);
  }

  /** Sends a message and waits for the end of its turn (the session is followed). */
  async turn(session_id: string, text: string, timeout_ms?: number): Promise<Pushed> {
    const { seq } = await this.call("session.send", { session_id, text });
    return await this.event(
      "turn.completed",
      (_, event) => event.session_id === session_id && event.seq > seq,
      timeout_ms,
    );
  }

  /** Waits until the other side has closed. */
  closed(): Promise<true> {
    return this.until(() => this.over || undefined, "the end of the connection");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#conn.close();
    } catch {
      // Closed already.
    }
    await this.#reading;
  }
}

/** An application error: the number, the word in data.svc_code. */
export function assertRpcError(error: Json, code: number, svc_code: string): void {
  const said = JSON.stringify(error);
  assertEquals([error.code, error.data?.svc_code], [code, svc_code], said);
  assertEquals(typeof error.message, "string", said);
}

/** One server-sent event. */
export interface Sent {
  id?: string;
  event?: string;
  data: Json;
}

/** Reads server-sent events until `enough`; the connection is ended. */
export async function sse(
  at: At,
  path: string,
  headers: HeadersInit,
  enough: (events: Sent[]) => boolean,
): Promise<{ response: Response; events: Sent[] }> {
  const response = await fetch(`http://127.0.0.1:${at.port}${path}`, {
    headers: {
      authorization: `Bearer ${at.token}`,
      ...Object.fromEntries(new Headers(headers)),
    },
    signal: AbortSignal.timeout(20_000),
  });
  const events: Sent[] = [];
  assertEquals(response.status, 200, response.status === 200 ? "" : await response.text());
  const lines = response.body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream());
  let sent: Partial<Sent> = {};
  for await (const line of lines) {
    const [, field, value] = line.match(/^(\w*): ?(.*)$/) ?? [];
    if (field === "id" || field === "event") sent[field] = value;
    if (field === "data") sent.data = JSON.parse(value);
    if (line !== "" || sent.data === undefined) continue;
    events.push(sent as Sent);
    sent = {};
    if (enough(events)) break;
  }
  return { response, events };
}

/** The keys of an object, sorted. */
export function keys(value: object): string[] {
  return Object.keys(value).sort();
}

/** Permission bits, as `chmod` writes them. */
export function mode(path: string): string {
  return (Deno.lstatSync(path).mode! & 0o7777).toString(8).padStart(4, "0");
}

/** The journal of a session in its workdir. */
export function journalOf(workdir: string, session_id: string): string {
  return join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
}

/** The records of a journal. */
export function records(path: string): Json[] {
  return Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** RFC 3339 with milliseconds. */
export const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
export const SESSION = /^sess_[0-9A-HJKMNP-TV-Z]{26}$/;

/** Starts a daemon that should refuse to; one that does not is stopped and said so. */
export async function refused(place: Place, ...args: string[]) {
  const [program, first] = svcCommand();
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 15_000);
  const child = new Deno.Command(program, {
    args: [...first, "serve", "--emit-port-stdout", ...args],
    env: place.env,
    clearEnv: true,
    cwd: "/",
    stdout: "piped",
    stderr: "piped",
    signal: stop.signal,
  }).spawn();
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert(!stop.signal.aborted, `it started: ${text(stdout)} ${text(stderr)}`);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
