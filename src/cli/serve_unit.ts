/** The daemon as a service manager started it: what it takes from there, and tells there. */
import { checkPrivate } from "../os/files.ts";
import type { HomePaths } from "../os/paths.ts";
import type { Supervisor } from "../features/service/supervisor.ts";
import { env } from "./environment.ts";

/**
 * Takes the variables over that the operator keeps for the unit: a service manager knows nothing of
 * what a person's shell has set.
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

/**
 * The service manager that started this process and wants to know how it stands, if there is one.
 *
 * @param onStop told when it wants the daemon to stop, where it does not send a signal for that.
 */
export async function findSupervisor(onStop: () => void): Promise<Supervisor | undefined> {
  if (Deno.build.os === "windows") {
    const { windowsSupervisor } = await import("../features/service/windows_supervisor.ts");
    return await windowsSupervisor(onStop);
  }
  const socket = env("NOTIFY_SOCKET");
  if (socket === undefined) return undefined;
  // What the daemon starts does not speak for it.
  Deno.env.delete("NOTIFY_SOCKET");
  const { systemdSupervisor } = await import("../features/service/systemd_supervisor.ts");
  return systemdSupervisor(socket);
}

/** Whether standard error is systemd's journal. Others keep it in a file that only grows. */
export function hasJournal(): boolean {
  return env("JOURNAL_STREAM") !== undefined;
}
