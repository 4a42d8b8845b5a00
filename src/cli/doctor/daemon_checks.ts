/** Checks of the running daemon: version, socket, port and token. */
import { dirname } from "@std/path";
import { checkPrivate } from "../../os/files.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { requireSocketPath } from "../../os/local_socket.ts";
import { isAlive } from "../../os/process.ts";
import { PROTOCOL_VERSION, VERSION } from "../../protocol/version.ts";
import { compareVersions, versionOf } from "../../features/update/version.ts";
import { type CheckResult, type Patient } from "./check.ts";

const HEALTH_MS = 5_000;

/** The hint of a finding that `svc serve restart` fixes. */
export const RESTART_HINT = "`svc serve restart` switches to it";

/** Compares the versions of this program, the running daemon and the installed binary. */
export async function versions({ paths, daemon }: Patient): Promise<CheckResult> {
  const own = `svc ${VERSION}, deno ${Deno.version.deno}, protocol ${PROTOCOL_VERSION}`;
  if (daemon === undefined) return { status: "ok", message: own };
  const message = daemon.version === VERSION ? own : `${own}; the daemon is ${daemon.version}`;
  if (daemon.protocol_version !== PROTOCOL_VERSION) {
    return {
      status: "fail",
      message: `${message} with protocol ${daemon.protocol_version}`,
      hint: "`svc serve restart` starts a daemon of this version",
    };
  }
  const installed = await installedVersion(paths.binary);
  const started_ms = Date.now() - daemon.uptime_s * 1000;
  if (installed === undefined || !isNewer(installed, { version: daemon.version, started_ms })) {
    return { status: "ok", message };
  }
  return {
    status: "warn",
    message: `${paths.binary} is ${installed.version}, the running daemon ${daemon.version}`,
    hint: RESTART_HINT,
  };
}

interface Installed {
  version: string;
  /** When its file was written. */
  written_ms: number;
}

/** Reports whether the installed binary is newer, by number and then by time. */
export function isNewer(
  installed: Installed,
  running: { version: string; started_ms: number },
): boolean {
  if (installed.version === running.version) return false;
  const order = compareVersions(installed.version, running.version);
  return order > 0 || (order === 0 && installed.written_ms > running.started_ms);
}

async function installedVersion(path: string): Promise<Installed | undefined> {
  let written_ms: number;
  try {
    written_ms = Deno.statSync(path).mtime?.getTime() ?? 0;
  } catch {
    return undefined;
  }
  const version = await versionOf(path);
  return version === undefined ? undefined : { version, written_ms };
}

/** Checks whether the local socket answers, and its mode. */
export function socket({ paths, daemon, daemon_problem, discovery }: Patient): CheckResult {
  // The daemon may have been started with another environment than this command.
  const path = discovery?.sock ?? paths.socket;
  try {
    if (Deno.build.os !== "windows") {
      requireSocketPath(path);
      checkPrivate(dirname(path), 0o700, "dir");
    }
    checkPrivate(path, 0o600, "socket");
  } catch (error) {
    const hint = error instanceof SvcError ? error.hint : undefined;
    return { status: "fail", message: messageOf(error), hint };
  }
  if (daemon !== undefined) {
    return { status: "ok", message: `pid ${daemon.pid} answers at ${path}` };
  }
  if (daemon_problem !== undefined) {
    return {
      status: "fail",
      message: `a program is listening at ${path}, but: ${daemon_problem}`,
      hint: `see the log: ${paths.log}`,
    };
  }
  return {
    status: "warn",
    message: `no daemon is running at ${path}`,
    hint: "`svc chat` starts one on demand; `svc serve` starts one now",
  };
}

/** Checks whether `/v1/health` answers on the loopback port. */
export async function port({ daemon }: Patient): Promise<CheckResult> {
  if (daemon === undefined) return { status: "ok", message: "no daemon is running" };
  const url = `${daemon.url}v1/health`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS) });
    const { status } = await response.json();
    if (response.ok) return { status: "ok", message: `${url} reports ${status}` };
    return { status: "fail", message: `${url} answers ${response.status}` };
  } catch (error) {
    return {
      status: "fail",
      message: `${url} does not answer: ${messageOf(error)}`,
      hint: "a firewall or proxy may block loopback connections",
    };
  }
}

/** Checks that the discovery file is the running daemon's. */
export function token({ paths, daemon, discovery }: Patient): CheckResult {
  if (discovery === undefined) {
    if (daemon === undefined) return { status: "ok", message: "no daemon is running" };
    return {
      status: "fail",
      message: `the daemon is running (pid ${daemon.pid}), but ${paths.discovery} cannot be read`,
      hint: "`svc serve restart` rewrites it",
    };
  }
  if (daemon === undefined) {
    const { pid } = discovery;
    const message = isAlive(pid)
      ? `${paths.discovery} refers to pid ${pid}, which is not a running daemon`
      : `${paths.discovery} is left over from a daemon that has stopped (pid ${pid})`;
    return { status: "warn", message, hint: "the next daemon replaces it" };
  }
  const same = discovery.pid === daemon.pid && discovery.port === daemon.port &&
    discovery.token === daemon.token;
  if (same) return { status: "ok", message: `${paths.discovery} matches the running daemon` };
  return {
    status: "fail",
    message: `${paths.discovery} does not match the running daemon (pid ${daemon.pid})`,
    hint: "`svc serve restart` rewrites it",
  };
}
