import { AlreadyRunning, type Daemon, startDaemon } from "../daemon/compose.ts";
import { readDiscovery } from "../client/discovery.ts";
import { SvcError } from "../platform/errors.ts";
import type { HomePaths } from "../platform/paths.ts";
import { parseFlags, UsageError } from "./args.ts";
import { env, ownPaths } from "./environment.ts";

const HELP = `Runs the daemon in the foreground. One runs per user; clients find it by itself.

Usage: svc serve [--addr <host:port>] [--port <port>] [--emit-port-stdout]
       svc serve --status [--json]
       svc serve restart [--json]

  --addr <host:port>      loopback address to listen on, 127.0.0.1:0 by default
  --port <port>           port to listen on; 0, the default, picks a free one
  --emit-port-stdout      print a daemon.listening line (NDJSON) when ready
  --enable-agent-routes   also serve hired tasks

  --status                show the running daemon; exit code 0 running, 3 stopped, 4 not installed
  restart                 stop the daemon, with 30 s for turns to reach a safe point, and start a
                          new one; sessions go on where they were
  --json                  machine-readable output

Ctrl-C stops it gracefully; a second Ctrl-C stops it at once, which loses nothing but the turns in
flight.`;

const SHUTDOWN_GRACE_S = 30;

/** Runs `svc serve`. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, string, rest } = parseFlags(argv, {
    boolean: ["emit-port-stdout", "enable-agent-routes", "detached", "status", "json"],
    string: ["addr", "port", "task-timeout", "caps"],
  });
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
  if (boolean["enable-agent-routes"]) {
    throw new SvcError(
      "not_implemented",
      "hired tasks (the routes under /api/) are not there yet",
      {
        hint: "`svc serve` without --enable-agent-routes runs everything else",
      },
    );
  }
  const { hostname, port } = listenAddress(string.addr, string.port);
  let daemon: Daemon;
  try {
    daemon = await startDaemon({
      paths,
      env,
      uid: Deno.uid() ?? 0,
      hostname,
      port,
      log_stderr: !boolean.detached,
    });
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error;
    console.error(await runningMessage(paths));
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
  await daemon.stopped;
  return 0;
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
