/** What the rows of product.md have in common: a daemon for a whole file, and requests by hand. */
import { join } from "@std/path";
import { delay } from "@std/async";
import { beforeTests } from "../support/before_tests.ts";
import { firstLine } from "../support/processes.ts";
import { can_run_svc, Daemon, Place, spawnSvc } from "../support/svc.ts";
import { type Json, SocketClient } from "./client.ts";

/** A daemon that the rows of one file share. */
export class Shared {
  #place: Place | undefined;
  #daemon: Daemon | undefined;
  #dirs = 0;

  /** Starts it before the file's first row and ends it after the last. */
  constructor(configuration?: string) {
    beforeTests(async () => {
      if (!can_run_svc) return;
      this.#place = new Place();
      if (configuration !== undefined) this.#place.configure(configuration);
      this.#daemon = await quietDaemon(this.#place);
    });
    Deno.test.afterAll(async () => {
      await this.#daemon?.kill();
      await this.#place?.[Symbol.asyncDispose]();
    });
  }

  get place(): Place {
    return this.#place!;
  }

  get daemon(): Daemon {
    return this.#daemon!;
  }

  /** A new directory to work in. */
  workdir(): string {
    return this.place.mkdir(`project-${++this.#dirs}`);
  }

  /** One request; with the token unless told another, or none (null). */
  http(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    return http(this.daemon, method, path, options);
  }

  /** Creates a session. @returns its id. */
  async session(more: Json = {}): Promise<string> {
    return (await createSession(this.daemon, { workdir: this.workdir(), ...more })).session_id;
  }

  /** A client of the local socket. */
  socket(): Promise<SocketClient> {
    return SocketClient.connect(this.daemon.sock);
  }
}

export interface RequestOptions {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body; undefined when it is empty. */
  json: Json;
}

/** One request to a daemon. */
export async function http(
  { url, token: own }: Daemon,
  method: string,
  path: string,
  { token = own, body, headers = {} }: RequestOptions = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return text === "" ? undefined : JSON.parse(text);
    },
  };
}

/** Creates a session over HTTP. */
export async function createSession(daemon: Daemon, params: Json): Promise<Json> {
  const { status, json } = await http(daemon, "POST", "/v1/sessions", { body: params });
  if (status >= 300) throw new Error(`POST /v1/sessions: ${status} ${JSON.stringify(json)}`);
  return json;
}

/** Where the journal of a session lies (product.md, Session journal). */
export function journalPath(workdir: string, session_id: string): string {
  return join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
}

/** The records of a journal. */
export function readJournal(path: string): Json[] {
  return Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** The permission bits of a file, in octal. */
export function mode(path: string): string {
  return (Deno.statSync(path).mode! & 0o777).toString(8);
}

/** Whether a timestamp is RFC 3339 and a time. */
export function isTimestamp(value: unknown): boolean {
  return typeof value === "string" &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value) &&
    !Number.isNaN(Date.parse(value));
}

/** Waits until something holds; false when it does not in time. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  timeout_ms = 60_000,
): Promise<boolean> {
  const until = Date.now() + timeout_ms;
  while (!(await holds())) {
    if (Date.now() > until) return false;
    await delay(20);
  }
  return true;
}

/** Whether a file is there. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Gives a place a home directory of its own, so that `~` in the daemon is inside the place. */
export function ownHome(place: Place): string {
  return place.env.HOME = place.mkdir("user");
}

/** A daemon whose log nobody reads: what it says during a row would count as the row's own. */
async function quietDaemon(place: Place): Promise<Daemon> {
  const child = spawnSvc(place, ["serve", "--emit-port-stdout"], { stderr: "null" });
  return new Daemon(child, Promise.resolve(""), JSON.parse(await firstLine(child)));
}
