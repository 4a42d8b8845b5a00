/** A daemon that takes tasks for hire, and a client that hires it. */
import { join } from "@std/path";
import { TextLineStream, toText } from "@std/streams";
import { beforeTests } from "./before_tests.ts";
import { endProcess } from "./processes.ts";
import { can_run_svc, Place, svcCommand } from "./svc.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Json = any;

export const TOKENS = ["token-of-the-first-hirer", "token-of-the-second-hirer"];

export interface HireRequest {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is. */
  text?: string;
  /** Null for none; the first by default. */
  token?: string | null;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface HireAnswer {
  status: number;
  headers: Headers;
  text: string;
  json: Json;
}

/** How the agent routes are served. */
export interface HireServeOptions {
  /** After `serve --enable-agent-routes`. */
  args?: string[];
  /** Of SVC_SERVE_TOKENS. */
  tokens?: readonly string[];
  env?: Record<string, string>;
  /** How many files and connections it may have open; as many as this process by default. */
  descriptors?: number;
}

/** A running `svc serve --enable-agent-routes`. */
export class Hire implements AsyncDisposable {
  readonly pid: number;
  /** Of surface B, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Port of the daemon's own listener. */
  readonly daemon_port: number;
  /** What it said on standard error, once it has ended. */
  readonly log: Promise<string>;
  readonly #child: Deno.ChildProcess;
  readonly #drained: Promise<void>;
  #token: string | null;

  private constructor(
    child: Deno.ChildProcess,
    started: { url: string; port: number; daemon_port: number },
    parts: { log: Promise<string>; drained: Promise<void>; token: string | null },
  ) {
    this.#child = child;
    this.pid = child.pid;
    this.url = started.url;
    this.port = started.port;
    this.daemon_port = started.daemon_port;
    this.log = parts.log;
    this.#drained = parts.drained;
    this.#token = parts.token;
  }

  /** Starts it and waits until it listens. @throws with what it said when it does not. */
  static async serve(place: Place, options: HireServeOptions = {}): Promise<Hire> {
    const { args = [], tokens = TOKENS, env = {}, descriptors } = options;
    const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
    const [program, first] = svcCommand();
    const address = args.includes("--addr") ? [] : ["--addr", "127.0.0.1:0"];
    const routes = ["--enable-agent-routes", ...address, ...args];
    const child = new Deno.Command("/bin/sh", {
      args: [
        "-c",
        `${limit}exec "$@"`,
        "sh",
        program,
        ...first,
        "serve",
        "--emit-port-stdout",
        ...routes,
      ],
      env: {
        ...place.env,
        TMPDIR: place.mkdir("tmp"),
        SVC_SERVE_TOKENS: tokens.join(","),
        ...env,
      },
      clearEnv: true,
      cwd: "/",
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const log = toText(child.stderr);
    const lines = child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()).getReader();
    const listening: Record<string, Json> = {};
    while (listening["agent.listening"] === undefined) {
      const { value, done } = await lines.read();
      if (done) throw new Error(`svc serve did not start: ${await log}`);
      const event = JSON.parse(value);
      listening[event.event] = event;
    }
    const drained = (async () => {
      while (!(await lines.read()).done);
    })();
    const { url, port } = listening["agent.listening"];
    return new Hire(child, {
      url: url.replace(/\/$/, ""),
      port,
      daemon_port: listening["daemon.listening"].port,
    }, { log, drained, token: tokens[0] ?? null });
  }

  /** One request. */
  async request(method: string, path: string, options: HireRequest = {}): Promise<HireAnswer> {
    const { body, token = this.#token, headers = {}, signal } = options;
    const text = options.text ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${this.url}${path}`, {
      method,
      signal,
      headers: {
        ...(token === null ? {} : { "x-svc-bearer": token }),
        ...(text === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: text,
    });
    const said = await response.text();
    let json: Json;
    try {
      json = JSON.parse(said);
    } catch {
      // No JSON.
    }
    return { status: response.status, headers: response.headers, text: said, json };
  }

  /** Has a task done and waits for it; its record. */
  async task(body: Json, options: HireRequest = {}): Promise<Json> {
    return (await this.request("POST", "/api/task", { body, ...options })).json;
  }

  /** Puts a task in the queue; its id. */
  async queue(body: Json): Promise<string> {
    const { json } = await this.request("POST", "/api/task", {
      body,
      headers: { prefer: "respond-async" },
    });
    return json.id;
  }

  /** The events of a task until its end. */
  async events(id: string, headers: Record<string, string> = {}): Promise<Json[]> {
    const { text } = await this.request("GET", `/api/task/${id}/events`, { headers });
    return [...text.matchAll(/^data:(.*)$/gm)].map(([, data]) => JSON.parse(data));
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Asks it to stop and waits; its exit code. */
  async stop(): Promise<number> {
    return (await this.#end("SIGTERM")).code;
  }

  async #end(signal: Deno.Signal): Promise<Deno.CommandStatus> {
    const status = await endProcess(this.#child, signal);
    await Promise.all([this.log, this.#drained]);
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** A daemon that takes tasks for hire, shared by the tests of one file. */
export class SharedHire {
  #place: Place | undefined;
  #hire: Hire | undefined;

  /**
   * Starts it before the file's first test and ends it after the last.
   *
   * @param prepare puts into the place what the daemon is to find; returns what takes away what the
   * daemon has left running, if there is such.
   */
  constructor(prepare: (place: Place) => void | (() => void), options: HireServeOptions) {
    let cleanUp: void | (() => void);
    beforeTests(async () => {
      if (!can_run_svc) return;
      this.#place = new Place();
      cleanUp = prepare(this.#place);
      this.#hire = await Hire.serve(this.#place, options);
    });
    Deno.test.afterAll(async () => {
      await this.#hire?.kill();
      cleanUp?.();
      await this.#place?.[Symbol.asyncDispose]();
    });
  }

  get place(): Place {
    return this.#place!;
  }

  get hire(): Hire {
    return this.#hire!;
  }
}

/** Writes `policy.yaml`, which is also JSON. */
export function writePolicy(place: Place, policy: Json): void {
  Deno.mkdirSync(place.home, { recursive: true, mode: 0o700 });
  Deno.writeTextFileSync(join(place.home, "policy.yaml"), JSON.stringify(policy), { mode: 0o600 });
}

/** A deploy target that runs a line of shell in a directory. */
export function shellTarget(name: string, cwd: string, line: string, more: Json = {}): Json {
  const health_url = "http://127.0.0.1:9/";
  return { name, command: "/bin/sh", args: ["-c", line], cwd, health_url, ...more };
}
