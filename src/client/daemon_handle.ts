/**
 * The daemon for a desktop shell (product.md, Desktop sidecar discovery): found, or started as
 * a child that ends with the shell. Independent of windows, so that other shells can copy it.
 */
import { deadline } from "@std/async";
import { TextLineStream } from "@std/streams";
import { connectWithin } from "../net/connect_within.ts";
import { SvcError } from "../protocol/errors.ts";
import { isAlive } from "../os/process.ts";
import { Tail } from "../base/tail.ts";
import { within } from "../base/within.ts";
import type { Discovery } from "../protocol/discovery.ts";
import { readDiscovery } from "./discovery.ts";
import type { Program } from "./own_program.ts";
import { startProgram } from "../os/start.ts";

/** Time to try a daemon's port (product.md, Limits). */
const PROBE_MS = 1_000;
/** Time for a connected daemon to prove its identity, even if busy. */
const IDENTITY_MS = 5_000;
const START_MS = 30_000;
/** A sidecar that was asked to stop is killed after this (product.md, Limits). */
const STOP_MS = 5_000;
/** The turns' part of it; the rest is for writing. */
const STOP_GRACE_S = 3;

export interface DaemonHandle {
  /** Whether it runs by itself, or as this process's child. */
  mode: "external" | "sidecar";
  /** Web app, with a final slash. */
  url: string;
  token: string;
  child?: SidecarProcess;
}

interface SidecarProcess {
  pid: number;
  ended: Promise<Deno.CommandStatus>;
}

/**
 * Finds the running daemon: its discovery file names a living process, its port answers within a
 * second, and it knows the token.
 *
 * @param discovery_path of `daemon.json`
 */
export async function findDaemon(discovery_path: string): Promise<DaemonHandle | undefined> {
  const record = await readDiscovery(discovery_path);
  if (record === undefined || !isAlive(record.pid) || !await accepts(record.port)) return undefined;
  if (!await knowsToken(record)) return undefined;
  return { mode: "external", url: urlOf(record.port), token: record.token };
}

async function accepts(port: number): Promise<boolean> {
  try {
    (await connectWithin({ hostname: "127.0.0.1", port }, PROBE_MS)).close();
    return true;
  } catch {
    return false;
  }
}

async function knowsToken({ port, token }: Discovery): Promise<boolean> {
  try {
    const response = await fetch(`${urlOf(port)}v1/discover`, {
      signal: AbortSignal.timeout(IDENTITY_MS),
      redirect: "error",
    });
    const found: Discovery = await response.json();
    return found.token === token;
  } catch {
    return false;
  }
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}/`;
}

/**
 * Starts the bundled daemon as a child, in its own process group: the shell handles Ctrl-C. It
 * ends with its standard input, even if the shell is killed.
 *
 * @throws {SvcError} internal when it does not start, with its output
 */
export async function startSidecar({ command, first_args }: Program): Promise<DaemonHandle> {
  const child = startProgram("svc serve", command, {
    args: [...first_args, "serve", "--port=0", "--emit-port-stdout"],
    env: { SVC_SIDECAR: "1" },
    cwd: "/",
    detached: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const said = new Tail(child.stderr);
  const listening = firstLine(child.stdout);
  try {
    const line = await deadline(listening, START_MS);
    const { port, token }: Discovery = JSON.parse(line);
    const ended = child.status.finally(() => child.stdin.abort().catch(() => {}));
    return { mode: "sidecar", url: urlOf(port), token, child: { pid: child.pid, ended } };
  } catch {
    kill(child.pid);
    await child.status;
    await child.stdin.abort().catch(() => {});
    await said.read;
    const reason = said.text.trim() || `it was not ready after ${START_MS / 1000} s`;
    throw new SvcError("internal", `the bundled daemon did not start: ${reason}`);
  }
}

/** Stops a sidecar over the WebSocket, or kills it after 5 s; leaves an external daemon alone. */
export async function letGo({ url, token, child }: DaemonHandle): Promise<void> {
  if (child === undefined) return;
  const asking = askToStop(url, token);
  try {
    if (await within(child.ended, STOP_MS)) return;
    kill(child.pid);
    await child.ended;
  } finally {
    asking.close();
  }
}

function askToStop(url: string, token: string): WebSocket {
  const socket = new WebSocket(new URL("v1/ws", url), ["svc.bearer", token, "svc.proto.v1"]);
  const params = { grace_s: STOP_GRACE_S };
  const request = { jsonrpc: "2.0", id: 1, method: "daemon.shutdown", params };
  socket.onopen = () => socket.send(JSON.stringify(request));
  // In any case the process is watched, and killed in time.
  socket.onerror = (event) => event.preventDefault();
  return socket;
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** The first line of a stream; the rest is dropped, so that the writer is not blocked. */
async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const lines = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  const reader = lines.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  lines.pipeTo(new WritableStream()).catch(() => {});
  if (value === undefined) throw new Error("it exited without a daemon.listening line");
  return value;
}
