/** How the daemon talks to the service manager that started it. */
import { checkPrivate } from "../os/files.ts";
import type { HomePaths } from "../os/paths.ts";
import type { Supervisor } from "../features/service/supervisor.ts";
import { env } from "./environment.ts";

/**
 * Sets the operator's variables for the unit: a service manager does not know those of a shell.
 *
 * @throws {SvcError} permission_denied for a file that is wider than 0600, foreign or a link.
 */
export async function takeEnvironment({ environment: path }: HomePaths): Promise<void> {
  if (!checkPrivate(path, 0o600, "file")) return;
  const { parseEnv } = await import("node:util");
  for (const [name, value] of Object.entries(parseEnv(await Deno.readTextFile(path)))) {
    if (value !== undefined) Deno.env.set(name, value);
  }
}

const OF_THE_DAEMON = ["NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/**
 * Returns the service manager that wants status reports, if any.
 *
 * @param onStop called when it stops the daemon without a signal.
 */
export async function findSupervisor(onStop: () => void): Promise<Supervisor | undefined> {
  if (Deno.build.os === "windows") {
    const { windowsSupervisor } = await import("../features/service/windows_supervisor.ts");
    return await windowsSupervisor(onStop);
  }
  const socket = env("NOTIFY_SOCKET");
  if (socket === undefined) return undefined;
  const passed = env("LISTEN_PID") === `${Deno.pid}` ? env("LISTEN_FDNAMES")?.split(":") : [];
  // Child processes must not report for the daemon.
  for (const name of OF_THE_DAEMON) Deno.env.delete(name);
  const { systemdSupervisor } = await import("../features/service/systemd_supervisor.ts");
  return systemdSupervisor(socket, passed ?? []);
}

/** Reports whether standard error is systemd's journal. Others keep it in an ever-growing file. */
export function hasJournal(): boolean {
  return env("JOURNAL_STREAM") !== undefined;
}
