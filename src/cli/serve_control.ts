/** `svc serve restart`. */
import { delay } from "@std/async";
import { connectIfAny, connectOrStart } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { useOnce } from "./daemon_call.ts";
import { SvcError } from "../protocol/errors.ts";
import { takeLock } from "../os/lock.ts";
import type { HomePaths } from "../os/paths.ts";
import { STOP_GRACE_S, STOP_MARGIN_S } from "../features/service/limits.ts";
import { openService, type ServiceOptions } from "../features/service/service.ts";
import type { Discovery } from "../protocol/discovery.ts";

/** The shells' exit code for a command that Ctrl-C ended. */
export const INTERRUPTED = 130;

const POLL_MS = 25;
const TELL_AFTER_MS = 1_000;
const TELL_EVERY_MS = 5_000;

export interface ControlOptions extends ServiceOptions {
  json: boolean;
}

/**
 * Stops the daemon, if any, and starts a new one, the background unit's if there is a unit
 * (product.md, restart sequence).
 *
 * @returns the exit code.
 * @throws as {@linkcode stopDaemon}; {SvcError} internal if no new one comes up.
 */
export async function restart(options: ControlOptions): Promise<number> {
  const { paths, json } = options;
  const stopped = await restartUnit(options) ?? await stopDaemon(options);
  if (stopped === "interrupted") return INTERRUPTED;
  if (stopped === undefined) console.error("no daemon was running; starting one");
  const { pid, version } = await useOnce(
    connectOrStart(paths, () => {}),
    (rpc) => rpc.call("daemon.discover"),
  );
  if (json) console.log(JSON.stringify({ pid, version, previous_pid: stopped?.pid }, null, 2));
  else console.log(`svc ${version} is running with pid ${pid}`);
  return 0;
}

/**
 * Has the service manager restart the daemon, if it is the unit's: it keeps the port only then.
 *
 * @returns undefined if it is not, or its service manager keeps no port.
 */
async function restartUnit(options: ControlOptions): Promise<{ pid: number } | undefined> {
  const service = await openService(options);
  if (service.restart === undefined || !await service.isInstalled()) return undefined;
  const { pid } = await service.status();
  const daemon = pid === undefined ? undefined : await connectIfAny(options.paths);
  if (daemon === undefined) return undefined;
  const found = await daemon.call("daemon.discover");
  daemon.close();
  if (found.pid !== pid) return undefined;
  // What keeps the daemon from starting is told by the one that is started next.
  await service.restart().catch(() => {});
  return found;
}

/**
 * Stops the daemon and waits until it is gone.
 *
 * @returns undefined if none ran; "interrupted" after Ctrl-C.
 * @throws {SvcError} timeout if it does not stop; conflict if it takes tasks for hire.
 */
export async function stopDaemon(
  options: ControlOptions,
): Promise<{ pid: number } | "interrupted" | undefined> {
  const { paths } = options;
  const daemon = await connectIfAny(paths);
  if (daemon === undefined) return undefined;
  const { pid }: Discovery = await daemon.call("daemon.discover");
  await requireNoHire(daemon, pid, options);
  await daemon.call("daemon.shutdown", { grace_s: STOP_GRACE_S });
  if (!await waitUntilGone(daemon, paths, pid)) {
    console.error(
      "svc: stopped waiting; the daemon is still shutting down, and no new one was started",
    );
    return "interrupted";
  }
  return { pid };
}

/**
 * A new daemon would lack its flags and tokens, unless it is the background unit's.
 *
 * @throws {SvcError} conflict.
 */
async function requireNoHire(
  daemon: RpcClient,
  pid: number,
  options: ControlOptions,
): Promise<void> {
  const { agent_port } = await daemon.call("daemon.info");
  if (agent_port === undefined) return;
  const unit = await (await openService(options)).status();
  if (unit.pid === pid) return;
  daemon.close();
  throw new SvcError(
    "conflict",
    "the daemon accepts tasks for hire; restart it with the flags that it was started with",
    {
      hint:
        "`svc ctl call daemon.shutdown` stops it, `svc serve --enable-agent-routes …` starts it",
    },
  );
}

/** @returns false after Ctrl-C. @throws {SvcError} timeout. */
async function waitUntilGone(
  old: RpcClient,
  paths: HomePaths,
  pid: number,
): Promise<boolean> {
  const interrupted = new AbortController();
  const onInterrupt = () => interrupted.abort();
  Deno.addSignalListener("SIGINT", onInterrupt);
  const { signal } = interrupted;
  const started = Date.now();
  let told = started + TELL_AFTER_MS - TELL_EVERY_MS;
  try {
    let connected = true;
    old.closed.then(() => connected = false);
    // It releases the lock last, and a new daemon needs the lock.
    while (connected || !await isFree(paths)) {
      const waited_s = Math.round((Date.now() - started) / 1000);
      if (waited_s > STOP_GRACE_S + STOP_MARGIN_S) {
        throw new SvcError("timeout", `the daemon (pid ${pid}) did not stop`, {
          hint: `\`kill -9 ${pid}\` stops it; everything in the journals is kept`,
        });
      }
      if (Date.now() - told >= TELL_EVERY_MS) {
        told = Date.now();
        console.error(
          `waiting for pid ${pid} to stop (${waited_s} s of up to ${STOP_GRACE_S} s) …`,
        );
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

async function isFree({ lock: path }: HomePaths): Promise<boolean> {
  const lock = await takeLock(path);
  lock?.release();
  return lock !== undefined;
}
