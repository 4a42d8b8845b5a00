/**
 * The background unit of this user, which runs the daemon without a terminal. One signature for
 * every system; what differs is in a file of its own for each.
 */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { Env, HomePaths } from "../../os/paths.ts";
import type { installedServiceSchema } from "./schemas.ts";

export type ServiceKind = "systemd" | "launchd" | "windows" | "none";

/** How the unit stands. */
export interface ServiceStatus {
  installed: boolean;
  /** What runs units on this system; `none` where nothing that svc knows does. */
  kind: ServiceKind;
  /** Where the unit stands: an absolute path, on Windows the key in the registry. */
  unit_path?: string;
  /** Whether it starts by itself; absent where the system does not say. */
  enabled?: boolean;
  /** Whether a daemon runs as this unit; absent where the system does not say. */
  running?: boolean;
  /** Process id of that daemon. */
  pid?: number;
  /** The binary that the unit runs: an absolute path. */
  program?: string;
  /** The unit runs the binary that asks, for the home that asks. */
  current: boolean;
  /** What is to be done, if something is. */
  hint?: string;
}

/** What an installation did. */
export type InstalledService = z.output<ReturnType<typeof installedServiceSchema>>;

/** A unit of this user, whatever runs it. */
export interface Service {
  readonly kind: ServiceKind;
  status(): Promise<ServiceStatus>;
  /** Whether a unit of this very home is installed; quicker to tell than the whole status. */
  isInstalled(): Promise<boolean>;
  /**
   * Writes the unit and has it start at login; starts nothing now.
   *
   * @throws {SvcError} not_found when no service manager answers; conflict when there is no binary
   * to run, or the unit is one of another home; permission_denied when the system wants more rights.
   */
  install(): Promise<InstalledService>;
  /**
   * Takes the unit away; all data stays. Nothing happens where there is none.
   *
   * @param options.stop stops its daemon first, gracefully, and waits until it is gone; else that
   * goes on.
   * @throws {SvcError} conflict when the unit is one of another home; internal when the service
   * manager fails.
   */
  remove(options: { stop: boolean }): Promise<void>;
  /**
   * Starts the unit's daemon; nothing happens where it runs.
   *
   * @throws {SvcError} internal when the service manager cannot.
   */
  start(): Promise<void>;
}

export interface ServiceOptions {
  paths: HomePaths;
  env: Env;
  uid: number;
  /**
   * Asks the person for the password of their account; absent where nobody can be asked. Only
   * Windows wants it, once, at the installation.
   *
   * @returns null when the person gives none.
   */
  askPassword?(account: string): string | null;
}

/** The unit of this user, on this system. */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { os } = Deno.build;
  if (os === "windows") {
    const { WindowsService } = await import("./windows.ts");
    return new WindowsService(options);
  }
  const user_home = options.env("HOME");
  if (user_home === undefined) return new NoService();
  if (os === "linux") {
    const { SystemdService } = await import("./systemd.ts");
    return new SystemdService(options, user_home);
  }
  if (os === "darwin") {
    const { LaunchdService } = await import("./launchd.ts");
    return new LaunchdService(options, user_home);
  }
  return new NoService();
}

/** Where there is no service manager that svc knows, or no home directory for units to be in. */
class NoService implements Service {
  readonly kind = "none";

  status(): Promise<ServiceStatus> {
    return Promise.resolve({ installed: false, kind: this.kind, current: false });
  }

  isInstalled(): Promise<boolean> {
    return Promise.resolve(false);
  }

  install(): Promise<InstalledService> {
    return Promise.reject(
      new SvcError("not_found", "found no service manager for this user", {
        hint: "start `svc serve` with the tool that starts programs on this system",
      }),
    );
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }

  start(): Promise<void> {
    return Promise.reject(new SvcError("internal", "no unit is installed"));
  }
}
