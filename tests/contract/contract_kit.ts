/** What the rows of contract.md share: one daemon a file, and clients that add nothing of their own. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { beforeTests } from "../support/before_tests.ts";
import { firstLine } from "../support/processes.ts";
import { can_run_svc, Place, spawnSvc, svcCommand } from "../support/svc.ts";
import {
  type Json,
  type JsonRpc,
  type PushedEvent,
  SocketClient,
  type SseEvent,
  SseReader,
} from "./client.ts";

/** Where a daemon is. */
export interface At {
  pid: number;
  port: number;
  token: string;
  sock: string;
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
    beforeTests(async () => {
      this.place = new Place();
      if (toml !== "") this.place.configure(toml);
      this.#child = spawnSvc(this.place, ["serve", "--emit-port-stdout"], { stderr: "null" });
      Object.assign(this, JSON.parse(await firstLine(this.#child)));
      await this.#child.stdout.cancel();
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

/** A client on the local socket. */
export function connect(at: At): Promise<SocketClient> {
  return SocketClient.connect(at.sock);
}

/** Subscribes from the first event; the number of the subscription. */
export async function follow(
  client: JsonRpc,
  session_id: string,
  more: Json = {},
): Promise<number> {
  return (await client.call("session.subscribe", { session_id, since_seq: 0, ...more })).sub;
}

/** The pushed events of a type, in order. */
export function of(client: JsonRpc, type: string): PushedEvent[] {
  return client.events.filter((event) => event.type === type);
}

/** The first event of a type whose data fits, past or future. */
export function event(
  client: JsonRpc,
  type: string,
  fits: (data: Json) => boolean = () => true,
  timeout_ms?: number,
): Promise<PushedEvent> {
  return client.event((it) => it.type === type && fits(it.data), type, timeout_ms);
}

/** An application error: the number, the word in data.svc_code. */
export function assertRpcError(
  error: { code: number; message: string; data?: Json },
  code: number,
  svc_code: string,
): void {
  const said = JSON.stringify(error);
  assertEquals([error.code, error.data?.svc_code], [code, svc_code], said);
  assertEquals(typeof error.message, "string", said);
}

/** The server-sent events of a path until `last`; the connection is ended. */
export async function sse(
  at: At,
  path: string,
  last: (event: SseEvent) => boolean,
  headers: HeadersInit = {},
): Promise<{ response: Response; events: SseEvent[] }> {
  const authorization = `Bearer ${at.token}`;
  await using reader = await SseReader.open(`http://127.0.0.1:${at.port}${path}`, {
    authorization,
    ...Object.fromEntries(new Headers(headers)),
  });
  for (let sent; (sent = await reader.next()) !== undefined;) if (last(sent)) break;
  return { response: reader.response, events: reader.events };
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
