import { AlreadyRunning, type Daemon, startDaemon } from "../daemon/compose.ts";
import { readDiscovery } from "../client/discovery.ts";
import type { HireOptions } from "../hire/listener.ts";
import type { HomePaths } from "../platform/paths.ts";
import { type Flags, parseFlags, UsageError } from "./args.ts";
import { env, ownPaths } from "./environment.ts";
import { HIRE_FLAGS, HIRE_HELP, hireOptions, parseTokens } from "./hire_flags.ts";

const HELP = `Runs the daemon in the foreground. One runs per user; clients find it by itself.

Usage: svc serve [--addr <host:port>] [--port <port>] [--emit-port-stdout]
       svc serve --enable-agent-routes [--addr <host:port>] [--port <port>] …
       svc serve --status [--json]
       svc serve restart [--json]

  --addr <host:port>      loopback address to listen on, 127.0.0.1:0 by default
  --port <port>           port to listen on; 0, the default, picks a free one
  --emit-port-stdout      print a daemon.listening line (NDJSON) when ready

${HIRE_HELP}

  --status                show the running daemon; exit code 0 running, 3 stopped, 4 not installed
  restart                 stop the daemon, with 30 s for turns to reach a safe point, and start a
                          new one; sessions go on where they were
  --json                  machine-readable output

Ctrl-C stops it gracefully; a second Ctrl-C stops it at once, which loses nothing but the turns in
flight.`;

const SHUTDOWN_GRACE_S = 30;

/** Runs `svc serve`. */
export async function run(argv: string[]): Promise<number> {
  const flags = parseFlags(argv, {
    boolean: ["emit-port-stdout", "detached", "status", "json", ...HIRE_FLAGS.boolean],
    string: ["addr", "port", ...HIRE_FLAGS.string],
  });
  const { boolean, string, rest } = flags;
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  const [action, ...others] = rest;
  if (others.length > 0 || (action !== undefined && action !== "restart")) {
    throw new UsageError(`svc serve takes no argument "${others[0] ?? action}"`);
  }
  const paths = ownPaths();
  if (boolean.status || action === "restart") {
    const { restart, showStatus } = await import("./serve_control.ts");
    const options = { paths, env, json: boolean.json ?? false };
    return boolean.status ? await showStatus(options) : await restart(options);
  }
  const hire_tokens = parseTokens(env("SVC_SERVE_TOKENS"));
  const hire = hireOptions(flags, hire_tokens);
  // With agent routes --addr is their address; the daemon's own listener is on loopback anyway.
  const { hostname, port } = listenAddress(hire ? undefined : string.addr, string.port);
  let daemon: Daemon;
  try {
    daemon = await startDaemon({
      paths,
      env,
      uid: Deno.uid() ?? 0,
      hostname,
      port,
      log_stderr: !boolean.detached,
      hire,
      hire_tokens,
    });
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error;
    console.error(await runningMessage(paths));
    if (hire) console.error("     end it first: tasks are taken for hire by one daemon");
    return 1;
  }
  // Before it says that it is ready: who reads that may stop it at once.
  surviveDefects(daemon);
  stopOnSignals(daemon, boolean.detached ?? false);
  const { discovery } = daemon;
  const url = `http://127.0.0.1:${discovery.port}/`;
  if (boolean["emit-port-stdout"]) {
    const { port, token, pid, sock } = discovery;
    console.log(JSON.stringify({ event: "daemon.listening", port, token, pid, sock, url }));
  } else if (!boolean.detached) {
    console.log(`svc listens on ${url} and ${discovery.sock}`);
  }
  if (hire) announceHire({ ...hire, port: daemon.hire_port! }, hire_tokens, boolean);
  await daemon.stopped;
  return 0;
}

/** Says where tasks are taken for hire, and warns when everyone may hire. */
function announceHire(
  { hostname, port }: HireOptions,
  tokens: readonly string[],
  { "emit-port-stdout": as_json }: Flags["boolean"],
): void {
  const url = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}/`;
  if (as_json) console.log(JSON.stringify({ event: "agent.listening", url, port }));
  else console.log(`tasks are taken for hire at ${url}api/task`);
  if (tokens.length > 0) return;
  console.error(
    `svc: SVC_SERVE_TOKENS is empty: everyone who reaches ${url} may hire; for development only`,
  );
}

/** A defect in one session must not take the others down with it. */
function surviveDefects({ log }: Daemon): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("unhandled rejection", { error: event.reason?.stack ?? String(event.reason) });
  });
}

function stopOnSignals(daemon: Daemon, detached: boolean): void {
  let asked = false;
  const onSignal = () => {
    if (asked) Deno.exit(1);
    asked = true;
    daemon.shutdown(SHUTDOWN_GRACE_S);
  };
  Deno.addSignalListener("SIGINT", onSignal);
  if (Deno.build.os !== "windows") {
    Deno.addSignalListener("SIGTERM", onSignal);
    // The terminal that a client started it from may close; the one it runs in itself may not.
    Deno.addSignalListener("SIGHUP", detached ? () => {} : onSignal);
  }
}

async function runningMessage(paths: HomePaths): Promise<string> {
  const running = await readDiscovery(paths.discovery);
  const pid = running ? `pid ${running.pid}` : "pid unknown";
  return `svc: a daemon already runs (${pid}, socket ${paths.socket}); ` +
    "use `svc ctl` to talk to it";
}

/** @throws {UsageError} for an address that is not loopback, or not an address. */
function listenAddress(addr = "127.0.0.1:0", port_flag?: string) {
  const [, host, addr_port] = addr.match(/^(.*):(\d+)$/) ?? [];
  if (host === undefined) throw new UsageError(`--addr takes host:port, got "${addr}"`);
  if (!["", "127.0.0.1", "localhost"].includes(host)) {
    throw new UsageError(`--addr takes a loopback host (127.0.0.1), got "${host}"`);
  }
  const port = Number(port_flag ?? addr_port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new UsageError(`"${port_flag ?? addr_port}" is not a port`);
  }
  return { hostname: "127.0.0.1", port };
}
