import { startDaemon } from "../daemon/compose.ts";
import { AlreadyRunning, type Daemon } from "../daemon/runtime.ts";
import { readDiscovery } from "../client/discovery.ts";
import type { HireOptions } from "../features/hire/listener.ts";
import { messageOf } from "../protocol/errors.ts";
import type { HomePaths } from "../os/paths.ts";
import type { ServiceOptions } from "../features/service/service.ts";
import { STOP_GRACE_S } from "../features/service/limits.ts";
import { type Flags, parseFlags, UsageError } from "./args.ts";
import { env, ownPaths } from "./environment.ts";
import { stopOnSignals, surviveDefects } from "./foreground.ts";
import type { ControlOptions } from "./serve_control.ts";
import { HIRE_FLAGS, HIRE_HELP, hireOptions, parseTokens } from "./hire_flags.ts";

const HELP = `Runs the daemon in the foreground. One runs per user; clients find it by itself.

Usage: svc serve [--addr <host:port>] [--port <port>] [--emit-port-stdout]
       svc serve --enable-agent-routes [--addr <host:port>] [--port <port>] …
       svc serve --install | --uninstall | --status [--json]
       svc serve restart [--json]

  --addr <host:port>      loopback address to listen on, 127.0.0.1:0 by default
  --port <port>           port to listen on; 0, the default, picks a free one
  --emit-port-stdout      print a daemon.listening line (NDJSON) when ready

${HIRE_HELP}

  --install               write a background unit of this user, and start the daemon as it
  --uninstall             stop the unit and remove it; sessions and all other data stay
  --status                show the daemon and its unit; exit code 0 running, 3 stopped,
                          4 not installed
  restart                 stop the daemon, with 30 s for turns to reach a safe point, and start a
                          new one; sessions go on where they were
  --json                  machine-readable output

Ctrl-C stops it gracefully; a second Ctrl-C stops it at once, which loses nothing but the turns in
flight.`;

/** What is done to the daemon from outside, by the flag or word that asks for it. */
const CONTROLS: Readonly<Record<string, (options: ControlOptions) => Promise<number>>> = {
  install: async (options) => (await import("./serve_service.ts")).install(options),
  uninstall: async (options) => (await import("./serve_service.ts")).uninstall(options),
  status: async (options) => (await import("./serve_status.ts")).showStatus(options),
  restart: async (options) => (await import("./serve_control.ts")).restart(options),
};
const CONTROL_FLAGS = ["install", "uninstall", "status"];

/** Runs `svc serve`. */
export async function run(argv: string[]): Promise<number> {
  const flags = parseFlags(argv, {
    boolean: [
      "emit-port-stdout",
      "detached",
      "unit",
      ...CONTROL_FLAGS,
      "json",
      ...HIRE_FLAGS.boolean,
    ],
    string: ["addr", "port", ...HIRE_FLAGS.string],
  });
  const { boolean, rest } = flags;
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  const [action, ...others] = rest;
  if (others.length > 0 || (action !== undefined && action !== "restart")) {
    throw new UsageError(`svc serve takes no argument "${others[0] ?? action}"`);
  }
  const paths = ownPaths();
  const uid = Deno.uid() ?? 0;
  const control = controlOf(flags);
  if (control !== undefined) {
    return await CONTROLS[control]({ paths, env, uid, json: boolean.json ?? false });
  }
  return await runDaemon(flags, { paths, env, uid });
}

/** Runs the daemon until it is stopped. @returns the exit code. */
async function runDaemon(flags: Flags, options: ServiceOptions): Promise<number> {
  const { paths, uid } = options;
  const { boolean, string } = flags;
  const unit = boolean.unit ? await import("./serve_unit.ts") : undefined;
  await unit?.takeEnvironment(paths);
  const hire_tokens = parseTokens(env("SVC_SERVE_TOKENS"));
  const hire = hireOptions(flags, hire_tokens);
  // With agent routes --addr is their address; the daemon's own listener is on loopback anyway.
  const { hostname, port } = listenAddress(hire ? undefined : string.addr, string.port);
  const sidecar = env("SVC_SIDECAR") === "1";
  const on_demand = boolean.detached ? await leaveToUnit(options) : undefined;
  if (on_demand?.started) return 0;
  let daemon: Daemon | undefined;
  const supervisor = await unit?.findSupervisor(() => daemon?.shutdown(STOP_GRACE_S));
  const talks = !boolean.detached && (unit?.hasJournal() ?? true);
  try {
    daemon = await startDaemon({
      paths,
      env,
      uid,
      hostname,
      port,
      log_stderr: talks,
      hire,
      hire_tokens,
      sidecar,
      onStopping: (grace_s) => supervisor?.stopping(grace_s),
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
  if (sidecar) stopWithShell(daemon);
  supervisor?.ready();
  if (on_demand?.problem !== undefined) {
    const error = messageOf(on_demand.problem);
    daemon.log.warn("the background unit does not start; this daemon runs without it", { error });
  }
  const { discovery } = daemon;
  const url = `http://127.0.0.1:${discovery.port}/`;
  if (boolean["emit-port-stdout"]) {
    const { port, token, pid, sock } = discovery;
    console.log(JSON.stringify({ event: "daemon.listening", port, token, pid, sock, url }));
  } else if (talks) {
    console.log(`svc listens on ${url} and ${discovery.sock}`);
  }
  if (hire) announceHire({ ...hire, port: daemon.hire_port! }, hire_tokens, boolean);
  await daemon.stopped;
  supervisor?.stopped();
  return 0;
}

/** @throws {UsageError} for more than one, or for flags of the daemon beside it. */
function controlOf({ boolean, string, rest }: Flags): string | undefined {
  const set = Object.entries({ ...boolean, ...string }).filter(([, value]) => value)
    .map(([name]) => name);
  const [control, ...more] = [...rest, ...CONTROL_FLAGS.filter((name) => set.includes(name))];
  if (control === undefined) return undefined;
  const others = [...more, ...set.filter((name) => name !== "json" && name !== control)];
  if (others.length === 0) return control;
  throw new UsageError(`svc serve: ${control} and ${others[0]} do not go together`);
}

/**
 * Has the background unit's daemon started instead of this one, where a unit is installed: what
 * clients start on demand is then the unit's too.
 *
 * @returns whether it runs; and why not, where there is a unit that does not start.
 */
async function leaveToUnit(
  options: ServiceOptions,
): Promise<{ started: boolean; problem?: unknown }> {
  try {
    const { startIfInstalled } = await import("./serve_service.ts");
    return { started: await startIfInstalled(options) };
  } catch (problem) {
    return { started: false, problem };
  }
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

/** A desktop shell holds the standard input of its sidecar open; with the shell it goes. */
async function stopWithShell(daemon: Daemon): Promise<void> {
  await Deno.stdin.readable.pipeTo(new WritableStream()).catch(() => {});
  daemon.shutdown(STOP_GRACE_S);
}

async function runningMessage(paths: HomePaths): Promise<string> {
  const running = await readDiscovery(paths.discovery);
  const pid = running ? `pid ${running.pid}` : "pid unknown";
  return `svc: a daemon already runs (${pid}, socket ${running?.sock ?? paths.socket}); ` +
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
