/** `svc serve --status` and `svc serve restart`: what is done to a daemon from outside. */
import { delay } from "@std/async";
import { join } from "@std/path";
import { connect, connectOrStart } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { daemonStatus } from "../client/status.ts";
import { keepPort } from "../daemon/last_port.ts";
import { SvcError } from "../platform/errors.ts";
import { takeLock } from "../platform/lock.ts";
import type { Env, HomePaths } from "../platform/paths.ts";
import type { Discovery } from "../verbs/services.ts";
import { table } from "./table.ts";

/** Exit codes of `svc serve --status` (contract.md section 10). */
const RUNNING = 0;
const STOPPED = 3;
const NOT_INSTALLED = 4;
/** As a shell reports a command that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Time that turns get to reach a safe point (product.md, restart sequence). */
const GRACE_S = 30;
/** Beyond the grace period: for writing what is left. */
const STOP_MARGIN_S = 15;
const POLL_MS = 25;
const TELL_AFTER_MS = 1_000;
const TELL_EVERY_MS = 5_000;

export interface ControlOptions {
  paths: HomePaths;
  env: Env;
  json: boolean;
}

/** Shows the daemon's status. @returns the exit code: 0 running, 3 stopped, 4 not installed. */
export async function showStatus({ paths, env, json }: ControlOptions): Promise<number> {
  const show = (status: Record<string, unknown>, text: string) =>
    console.log(json ? JSON.stringify(status, null, 2) : text);
  try {
    const { pid, version, protocol_version, uptime_s, sessions, sock, port, url } =
      await daemonStatus(paths);
    const status = {
      status: "running",
      pid,
      version,
      protocol_version,
      uptime_s,
      sessions,
      sock,
      port,
      url,
    };
    show(status, table(Object.entries(status).map(([name, value]) => [name, String(value)])));
    return RUNNING;
  } catch (error) {
    if (!(error instanceof SvcError && error.code === "not_found")) throw error;
  }
  if (exists(paths.home) || serviceUnits(env).some(exists)) {
    show({ status: "stopped" }, "stopped; `svc serve` starts the daemon, `svc chat` does so too");
    return STOPPED;
  }
  show({ status: "not_installed" }, "not installed; `svc chat` or `svc serve` makes a home");
  return NOT_INSTALLED;
}

/**
 * Stops the daemon, waits until it is gone, and starts a new one (product.md, restart sequence). With
 * none running it starts one.
 *
 * @returns the exit code.
 * @throws {SvcError} timeout when the old daemon does not stop; internal when no new one comes up.
 */
export async function restart({ paths, json }: ControlOptions): Promise<number> {
  const old = await connectIfAny(paths);
  let previous_pid: number | undefined;
  if (old === undefined) {
    console.error("no daemon was running; starting one");
  } else {
    const { pid, port }: Discovery = await old.call("daemon.discover");
    previous_pid = pid;
    await requireNoHire(old);
    await old.call("daemon.shutdown", { grace_s: GRACE_S });
    if (!await waitUntilGone(old, paths, previous_pid)) {
      console.error("svc: stopped waiting; the daemon goes on stopping, no new one is started");
      return INTERRUPTED;
    }
    keepPort(paths.lock, port);
  }
  const rpc = await connectOrStart(paths, () => {});
  try {
    const { pid, version } = await rpc.call("daemon.discover");
    if (json) console.log(JSON.stringify({ pid, version, previous_pid }, null, 2));
    else console.log(`svc ${version} runs with pid ${pid}`);
  } finally {
    rpc.close();
  }
  return 0;
}

/** A new daemon would neither have its flags nor its tokens. @throws {SvcError} conflict. */
async function requireNoHire(daemon: RpcClient): Promise<void> {
  const { agent_port } = await daemon.call("daemon.info");
  if (agent_port === undefined) return;
  daemon.close();
  throw new SvcError("conflict", "the daemon takes tasks for hire; restart it as it was started", {
    hint: "`svc ctl call daemon.shutdown` ends it, `svc serve --enable-agent-routes …` starts it",
  });
}

async function connectIfAny(paths: HomePaths): Promise<RpcClient | undefined> {
  try {
    return await connect(paths);
  } catch (error) {
    if (error instanceof SvcError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** @returns false when the person pressed Ctrl-C. @throws {SvcError} timeout. */
async function waitUntilGone(old: RpcClient, paths: HomePaths, pid: number): Promise<boolean> {
  const interrupted = new AbortController();
  const onInterrupt = () => interrupted.abort();
  Deno.addSignalListener("SIGINT", onInterrupt);
  const { signal } = interrupted;
  const started = Date.now();
  let told = started + TELL_AFTER_MS - TELL_EVERY_MS;
  try {
    let connected = true;
    old.closed.then(() => connected = false);
    // Its last act is to let go of the lock, which is what a new daemon needs.
    while (connected || !await lockIsFree(paths)) {
      const waited_s = Math.round((Date.now() - started) / 1000);
      if (waited_s > GRACE_S + STOP_MARGIN_S) {
        throw new SvcError("timeout", `the daemon (pid ${pid}) does not stop`, {
          hint: `kill -9 ${pid} ends it; what is journaled stays`,
        });
      }
      if (Date.now() - told >= TELL_EVERY_MS) {
        told = Date.now();
        console.error(`waiting for pid ${pid} to stop, ${waited_s} s of at most ${GRACE_S} …`);
      }
      await delay(POLL_MS, { signal });
    }
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  } finally {
    Deno.removeSignalListener("SIGINT", onInterrupt);
    old.close();
  }
}

async function lockIsFree({ lock }: HomePaths): Promise<boolean> {
  const taken = await takeLock(lock);
  taken?.release();
  return taken !== undefined;
}

/** Where a background unit of this user would be. */
function serviceUnits(env: Env): string[] {
  const home = env("HOME");
  if (home === undefined) return [];
  const config = env("XDG_CONFIG_HOME") ?? join(home, ".config");
  return [
    join(config, "systemd", "user", "svc.service"),
    join(home, "Library", "LaunchAgents", "svc.daemon.plist"),
  ];
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
