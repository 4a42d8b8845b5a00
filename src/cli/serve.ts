import { startDaemon } from "../daemon/compose.ts";
import { forHire, hire as hireFeature } from "../features/hire/feature.ts";
import { AlreadyRunning, type Daemon } from "../daemon/runtime.ts";
import type { StartedBy } from "../daemon/login_path.ts";
import { messageOf } from "../protocol/errors.ts";
import type { ServiceOptions } from "../features/service/service.ts";
import { STOP_GRACE_S } from "../features/service/limits.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { env, ownPaths, parseTokens } from "./environment.ts";
import { stopOnSignals, surviveDefects } from "./foreground.ts";
import type { ControlOptions } from "./serve_control.ts";
import { HIRE_FLAGS, type RESTART, type SERVE } from "./table/serve_spec.ts";

/** Flags that control the daemon instead of running it. */
const CONTROLS: Readonly<Record<string, (options: ControlOptions) => Promise<number>>> = {
  install: async (options) => (await import("./serve_service.ts")).install(options),
  uninstall: async (options) => (await import("./serve_service.ts")).uninstall(options),
  status: async (options) => (await import("./serve_status.ts")).showStatus(options),
};

type ServeInput = Input<typeof SERVE>;

/** Runs `svc serve`. */
export async function run(input: ServeInput): Promise<number> {
  const options = ownOptions();
  const control = controlOf(input);
  if (control === undefined) return await runDaemon(input, options);
  return await CONTROLS[control]({ ...options, json: input.flags.json });
}

/** Runs `svc serve restart`. */
export async function restart({ flags: { json } }: Input<typeof RESTART>): Promise<number> {
  const { restart } = await import("./serve_control.ts");
  return await restart({ ...ownOptions(), json });
}

function ownOptions(): ServiceOptions {
  return { paths: ownPaths(), env, uid: Deno.uid() ?? 0 };
}

/** Runs the daemon until it is stopped. @returns the exit code. */
async function runDaemon(input: ServeInput, options: ServiceOptions): Promise<number> {
  const { paths, uid } = options;
  const { flags } = input;
  const unit = flags.unit ? await import("./serve_unit.ts") : undefined;
  await unit?.takeEnvironment(paths);
  const hire_tokens = parseTokens(env("SVC_SERVE_TOKENS"));
  const hiring = flags["enable-agent-routes"] || input.given.some((name) => name in HIRE_FLAGS)
    ? await import("./hire_flags.ts")
    : undefined;
  const hire = hiring?.hireOptions(input, hire_tokens);
  // With agent routes, --addr is theirs; the daemon's own listener is always on loopback.
  const { hostname, port } = listenAddress(hire ? undefined : flags.addr, flags.port);
  const sidecar = env("SVC_SIDECAR") === "1";
  const started_by = startedBy(flags.unit === true);
  const on_demand = flags.detached ? await leaveToUnit(options) : undefined;
  if (on_demand?.started) return 0;
  let daemon: Daemon | undefined;
  const supervisor = await unit?.findSupervisor(() => daemon?.shutdown(STOP_GRACE_S));
  const talks = !flags.detached && (unit?.hasJournal() ?? true);
  try {
    daemon = await startDaemon({
      paths,
      env,
      uid,
      hostname,
      port,
      log_stderr: talks,
      started_by,
      allow_private: hire?.allow_private ?? false,
      given: [forHire({ tokens: hire_tokens, offer: hire })],
      sidecar,
      port_store: supervisor?.port,
      onStopping: (grace_s) => supervisor?.stopping(grace_s),
    });
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error;
    const { runningMessage } = await import("./serve_status.ts");
    console.error(await runningMessage(paths));
    if (hire) console.error("     stop it first: only one daemon can accept tasks for hire");
    return 1;
  }
  // Before it reports that it is ready: the reader may stop it at once.
  surviveDefects(daemon);
  stopOnSignals(daemon, flags.detached);
  if (sidecar) stopWithShell(daemon);
  supervisor?.ready();
  if (on_demand?.problem !== undefined) {
    const error = messageOf(on_demand.problem);
    daemon.log.warn("could not start the background unit; running without it", { error });
  }
  const { discovery } = daemon;
  const url = `http://127.0.0.1:${discovery.port}/`;
  if (flags["emit-port-stdout"]) {
    const { port, token, pid, sock } = discovery;
    console.log(JSON.stringify({ event: "daemon.listening", port, token, pid, sock, url }));
  } else if (talks) {
    console.log(`svc is listening on ${url} and ${discovery.sock}`);
  }
  if (hire) {
    hiring?.announceHire(
      { ...hire, port: daemon.ports.get(hireFeature.name)! },
      hire_tokens,
      flags,
    );
  }
  await daemon.stopped;
  supervisor?.stopped();
  return 0;
}

/** Terminals set TERM, which also a daemon has that a client in a terminal started. */
function startedBy(unit: boolean): StartedBy {
  if ([Deno.stdin, Deno.stdout, Deno.stderr].some((it) => it.isTerminal())) return "terminal";
  if (unit) return "service_manager";
  return env("TERM") === undefined ? "program" : "terminal";
}

/** @throws {UsageError} for several of them, or with flags of the daemon. */
function controlOf({ given }: ServeInput): string | undefined {
  const control = given.find((name) => name in CONTROLS);
  if (control === undefined) return undefined;
  const other = given.find((name) => name !== control && name !== "json");
  if (other === undefined) return control;
  throw new UsageError(`--${control} and --${other} cannot be used together`);
}

/**
 * Starts the background unit's daemon instead of this one, if a unit is installed: clients that
 * start a daemon on demand get that too.
 *
 * @returns whether it runs, and the problem if it does not start.
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

/** A desktop shell holds its sidecar's standard input open; the sidecar stops with it. */
async function stopWithShell(daemon: Daemon): Promise<void> {
  await Deno.stdin.readable.pipeTo(new WritableStream()).catch(() => {});
  daemon.shutdown(STOP_GRACE_S);
}

/** @throws {UsageError} for an address that is invalid or not loopback. */
function listenAddress(addr = "127.0.0.1:0", port_flag?: number) {
  const [, host, addr_port] = addr.match(/^(.*):(\d+)$/) ?? [];
  const port = port_flag ?? Number(addr_port);
  if (host === undefined || port > 65_535) {
    throw new UsageError(`invalid value "${addr}" for --addr: expected host:port`);
  }
  if (!["", "127.0.0.1", "localhost"].includes(host)) {
    throw new UsageError(
      `invalid value "${addr}" for --addr: "${host}" is not a loopback host such as 127.0.0.1`,
    );
  }
  return { hostname: "127.0.0.1", port };
}
