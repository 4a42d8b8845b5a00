/** `svc serve --status`: the daemon and its background unit. */
import { readDiscovery } from "../client/discovery.ts";
import { type DaemonStatus, daemonStatus } from "../client/status.ts";
import { SvcError } from "../protocol/errors.ts";
import { exists } from "../os/files.ts";
import type { HomePaths } from "../os/paths.ts";
import { openService, type ServiceStatus } from "../features/service/service.ts";
import type { ControlOptions } from "./serve_control.ts";
import { table } from "./table.ts";
import { visible } from "../base/visible.ts";
import { print } from "./daemon_call.ts";
import { named } from "./own_name.ts";

/** Exit codes (contract.md section 10). */
const RUNNING = 0;
const STOPPED = 3;
const NOT_INSTALLED = 4;

/** Shows the status of the daemon and its unit. @returns 0 running, 3 stopped, 4 not installed. */
export async function showStatus(options: ControlOptions): Promise<number> {
  const { paths, json } = options;
  const daemon = await statusIfRunning(paths);
  const unit = await (await openService(options)).status();
  const code = daemon !== undefined
    ? RUNNING
    : exists(paths.home) || unit.installed
    ? STOPPED
    : NOT_INSTALLED;
  if (json) {
    const status = daemon ?? { status: code === STOPPED ? "stopped" : "not_installed" };
    print({ ...status, service: unit });
    return code;
  }
  if (daemon !== undefined) {
    console.log(table(Object.entries(daemon).map(([name, value]) => [name, String(value)])));
  } else if (code === STOPPED) {
    console.log(named("stopped; `svc serve` and `svc chat` start the daemon"));
  } else {
    console.log(named("not installed; `svc chat` or `svc serve` creates the home directory"));
  }
  if (unit.installed) console.log(visible(describeUnit(unit)));
  return code;
}

/** Describes a unit in a line or two. */
export function describeUnit(unit: ServiceStatus): string {
  const { kind, unit_path, enabled, running, hint } = unit;
  const facts = [
    `background unit (${kind})`,
    ...(enabled === undefined ? [] : [enabled ? "starts at login" : "does not start at login"]),
    ...(running === undefined ? [] : [running ? "running" : "not running"]),
    unit_path,
  ];
  const line = facts.join(", ");
  return hint === undefined ? line : `${line}\n${named(hint)}`;
}

async function statusIfRunning(paths: HomePaths) {
  try {
    return running(await daemonStatus(paths));
  } catch (error) {
    if (error instanceof SvcError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** The fields that are shown, without the token. */
function running(
  { pid, version, protocol_version, uptime_s, sessions, sock, port, url }: DaemonStatus,
) {
  return {
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
}

/** Says which daemon is already running. */
export async function runningMessage(paths: HomePaths): Promise<string> {
  const running = await readDiscovery(paths.discovery);
  const pid = running ? `pid ${running.pid}` : "pid unknown";
  return `svc: a daemon is already running (${pid}, socket ${running?.sock ?? paths.socket}); ` +
    named("use `svc ctl` to control it");
}
