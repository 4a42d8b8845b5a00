/**
 * Real `svc` processes for tests: from source, or, with SVC_BIN set, the compiled binary. Each has a
 * home of its own; nothing of the person's own daemon is touched.
 */
import { fromFileUrl, join } from "@std/path";
import { delay } from "@std/async";
import { toText } from "@std/streams";
import { shellQuote } from "../../src/base/shell_quote.ts";
import type { Discovery } from "../../src/protocol/discovery.ts";
import type { EventParams } from "../../src/client/rpc.ts";
import { RpcClient } from "../../src/client/rpc.ts";
import { hasOpen } from "../../src/os/process.ts";
import { granted } from "./permissions.ts";
import { firstLine, removeOnceStill } from "./processes.ts";
import { RUN_ENV } from "./run_mark.ts";

const root = fromFileUrl(new URL("../../", import.meta.url));

/** Whether this test run may start processes, listen and write. */
export const can_run_svc = granted("read", "write", "run", "net", "env");

/** Whether `svc` is the compiled binary in this run. */
export const tests_binary = granted("env") && Boolean(Deno.env.get("SVC_BIN"));

/** Whether `svc` runs from source: for tests that bring their own modules into it. */
export const tests_source = !tests_binary;

/** The program and first arguments of `svc`. */
export function svcCommand(): [string, string[]] {
  const binary = Deno.env.get("SVC_BIN");
  // Its hints say `svc`, as from source, wherever the binary lies.
  if (binary) return [binary, ["--called-as=svc"]];
  const config = join(root, "deno.json");
  return [Deno.execPath(), [
    "run",
    "--quiet",
    "--permission-set",
    `--config=${config}`,
    join(root, "main.ts"),
  ]];
}

interface SpawnOptions {
  /** More of its environment. */
  env?: Record<string, string>;
  stdin?: "piped" | "null";
  stderr?: "piped" | "null";
}

/** A command line of `svc` for a shell. */
export function svcLine(...args: string[]): string {
  const [program, first] = svcCommand();
  return [program, ...first, ...args].map(shellQuote).join(" ");
}

/** A process of `svc` in a place; the caller ends it. */
export function spawnSvc(
  place: Place,
  args: readonly string[],
  { env = {}, stdin = "null", stderr = "piped" }: SpawnOptions = {},
): Deno.ChildProcess {
  const [program, first] = place.command;
  return new Deno.Command(program, {
    args: [...first, ...args],
    env: { ...place.env, ...env },
    clearEnv: true,
    cwd: "/",
    stdin,
    stdout: "piped",
    stderr,
  }).spawn();
}

/** A folder for one test: a home of svc and room for workdirs; removed at the end. */
export class Place implements AsyncDisposable {
  readonly dir: string;
  readonly home: string;
  readonly env: Record<string, string>;
  /** The program and first arguments of `svc`. */
  readonly command: [string, string[]];
  #daemons: Daemon[] = [];

  /** @param parent where the folder is made; by default the directory of temporary files. */
  constructor(
    env: Record<string, string> = {},
    { command = svcCommand(), parent }: { command?: [string, string[]]; parent?: string } = {},
  ) {
    this.command = command;
    this.dir = Deno.realPathSync(Deno.makeTempDirSync({ dir: parent, prefix: "svc-test-" }));
    this.home = join(this.dir, "home");
    this.env = { SVC_HOME: this.home, ...env };
    // What the person has in their home is not for a test. From source svc finds its modules by
    // DENO_DIR.
    this.env.HOME ??= this.mkdir("person");
    for (const name of ["PATH", "DENO_DIR", "DENO_TLS_CA_STORE", RUN_ENV]) {
      const value = Deno.env.get(name);
      if (value !== undefined) this.env[name] ??= value;
    }
  }

  /** Makes a directory below the place. */
  mkdir(name: string): string {
    const path = join(this.dir, name);
    Deno.mkdirSync(path, { recursive: true });
    return path;
  }

  /** Writes `daemon.toml`. */
  configure(toml: string): void {
    Deno.mkdirSync(this.home, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(join(this.home, "daemon.toml"), toml, { mode: 0o600 });
  }

  /**
   * Writes a `daemon.toml` in which `local/…` is the model server at an address, and turns are not
   * read when they are over, nor sessions named, as that would be one more request each.
   *
   * @param more what follows in the file.
   */
  useLocalModel(base_url: string, more = ""): void {
    this.configure(
      `[cortex]\ncurator = false\n` +
        `[models.local]\nkind = "openai-compatible"\nbase_url = "${base_url}"\n${untitled(more)}`,
    );
  }

  /** Writes `policy.yaml`. */
  setPolicy(yaml: string): void {
    Deno.mkdirSync(this.home, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(join(this.home, "policy.yaml"), yaml, { mode: 0o600 });
  }

  /** Starts `svc serve` and waits until it listens. */
  async serve(...args: string[]): Promise<Daemon> {
    const child = spawnSvc(this, ["serve", "--emit-port-stdout", ...args]);
    const log = toText(child.stderr);
    const listening = await firstLine(child).catch(async () => {
      await child.status;
      throw new Error(`svc serve did not start: ${await log}`);
    });
    const daemon = new Daemon(child, log, JSON.parse(listening));
    this.#daemons.push(daemon);
    return daemon;
  }

  /** Runs one `svc` command to its end. */
  async svc(args: string[], options: { stdin?: string; cwd?: string } = {}) {
    const [program, first] = this.command;
    const child = new Deno.Command(program, {
      args: [...first, ...args],
      env: this.env,
      clearEnv: true,
      cwd: options.cwd ?? this.dir,
      stdin: options.stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    if (options.stdin !== undefined) {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(options.stdin));
      await writer.close();
    }
    const { code, stdout, stderr } = await child.output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, stdout: text(stdout), stderr: text(stderr) };
  }

  /** The discovery record of a daemon that a client brought up. */
  discovery(): Discovery {
    return JSON.parse(Deno.readTextFileSync(join(this.home, "daemon.json")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const daemon of this.#daemons) await daemon.kill();
    try {
      // One that a client brought up in the background.
      const { pid } = this.discovery();
      if (hasOpen(pid, join(this.home, "daemon.lock")) !== false) {
        Deno.kill(pid, "SIGKILL");
        await gone(pid);
      }
    } catch {
      // None is left.
    }
    await removeOnceStill(this.dir);
  }
}

/** Has the rest of a `daemon.toml` say that sessions are not named, unless it has a word on it. */
export function untitled(toml: string): string {
  if (/^titles = /m.test(toml)) return toml;
  const stated = /^\[agent\]\n/m;
  return stated.test(toml)
    ? toml.replace(stated, "[agent]\ntitles = false\n")
    : `${toml.trimEnd()}\n[agent]\ntitles = false\n`;
}

/** A running `svc serve`. */
export class Daemon {
  readonly pid: number;
  readonly port: number;
  readonly token: string;
  readonly sock: string;
  readonly url: string;
  /** What it logged, once it has ended. */
  readonly log: Promise<string>;
  readonly #child: Deno.ChildProcess;
  readonly #status: Promise<Deno.CommandStatus>;
  /** By now its number may be another process's, or that of a thread, which a signal reaches too. */
  #has_ended = false;

  constructor(child: Deno.ChildProcess, log: Promise<string>, listening: Discovery) {
    this.#child = child;
    this.#status = child.status.finally(() => this.#has_ended = true);
    this.log = log;
    ({ pid: this.pid, port: this.port, token: this.token, sock: this.sock } = listening);
    this.url = `http://127.0.0.1:${this.port}`;
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    try {
      if (!this.#has_ended) Deno.kill(this.pid, "SIGKILL");
    } catch {
      // It is just ending.
    }
    await this.#end();
  }

  /** Asks it to stop and waits. */
  async stop(signal: Deno.Signal = "SIGTERM"): Promise<Deno.CommandStatus> {
    Deno.kill(this.pid, signal);
    return await this.#end();
  }

  /** Resolves when it has ended by itself. */
  async ended(): Promise<Deno.CommandStatus> {
    return await this.#end();
  }

  async #end(): Promise<Deno.CommandStatus> {
    const status = await this.#status;
    await this.log;
    await this.#child.stdout.cancel().catch(() => {});
    return status;
  }

  /** One HTTP request with the token; the body is JSON. */
  async http(method: string, path: string, body?: unknown, headers: HeadersInit = {}) {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...Object.fromEntries(new Headers(headers)),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    // deno-lint-ignore no-explicit-any -- tests look at what they expect
    const json: any = text === "" ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, json };
  }

  /** A client on the local socket. */
  async rpc(): Promise<TestClient> {
    return new TestClient(
      new RpcClient(await Deno.connect({ transport: "unix", path: this.sock })),
    );
  }

  /** Resident memory in bytes (Linux). */
  rss(): number {
    const status = Deno.readTextFileSync(`/proc/${this.pid}/status`);
    return Number(status.match(/VmRSS:\s+(\d+)/)![1]) * 1024;
  }
}

/** A client for tests, which also call what a typed one would not, and look into what comes. */
export interface PlainRpc extends Omit<RpcClient, "call"> {
  // deno-lint-ignore no-explicit-any -- each test looks at what it expects
  call(method: string, params?: any): Promise<any>;
}

/** A socket client that keeps the events it is pushed. */
export class TestClient implements AsyncDisposable {
  readonly rpc: PlainRpc;
  readonly events: EventParams[] = [];
  #watchers = new Set<(event: EventParams) => void>();

  constructor(rpc: PlainRpc) {
    this.rpc = rpc;
    rpc.onEvent = (event) => {
      this.events.push(event);
      for (const watch of [...this.#watchers]) watch(event);
    };
  }

  /** Starts a session and subscribes to it from its first event. */
  async session(params: Record<string, unknown>): Promise<string> {
    const { session_id } = await this.rpc.call("session.start", params);
    await this.rpc.call("session.subscribe", { session_id, since_seq: 0 });
    return session_id;
  }

  /** The first event, past or future, that fits. */
  async wait(
    fits: (event: EventParams) => boolean,
    what = "an event",
    timeout_ms = 60_000,
  ): Promise<EventParams> {
    const seen = this.events.find(fits);
    if (seen) return seen;
    const found = Promise.withResolvers<EventParams>();
    const watch = (event: EventParams) => fits(event) && found.resolve(event);
    this.#watchers.add(watch);
    const timer = setTimeout(() => {
      const types = this.events.slice(-12).map((event) => `${event.seq} ${event.type}`).join(", ");
      found.reject(new Error(`${what} did not come in ${timeout_ms} ms; last events: ${types}`));
    }, timeout_ms);
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(watch);
    }
  }

  /** Sends a message and waits for the end of its turn. */
  async turn(session_id: string, text: string, timeout_ms?: number): Promise<EventParams> {
    const { seq } = await this.rpc.call("session.send", { session_id, text });
    return await this.wait(
      (event) =>
        event.session_id === session_id && event.type === "turn.completed" && event.seq > seq,
      "turn.completed",
      timeout_ms,
    );
  }

  /** The events of a type, in order. */
  of(type: string): EventParams[] {
    return this.events.filter((event) => event.type === type);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.rpc.close();
    await this.rpc.closed;
  }
}

/** Resolves when no process has that id any more. */
export async function gone(pid: number, timeout_ms = 60_000): Promise<boolean> {
  const until = Date.now() + timeout_ms;
  do {
    try {
      const state = Deno.readTextFileSync(`/proc/${pid}/stat`).match(/\) (\S)/)?.[1];
      if (state === "Z") return true;
    } catch {
      return true;
    }
    await delay(20);
  } while (Date.now() < until);
  return false;
}
