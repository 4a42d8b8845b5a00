/**
 * The background unit, which runs this user's daemon without a terminal. One interface, with a file
 * for each system.
 */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { Env, HomePaths } from "../../os/paths.ts";
import type { installedServiceSchema } from "./schemas.ts";

type ServiceKind = "systemd" | "launchd" | "windows" | "none";

export interface ServiceStatus {
  installed: boolean;
  /** `none` without a known service manager. */
  kind: ServiceKind;
  /** An absolute path; on Windows a registry key. */
  unit_path?: string;
  /** Whether it starts automatically; absent if unknown. */
  enabled?: boolean;
  /** Whether a daemon runs as this unit; absent if unknown. */
  running?: boolean;
  /** Of that daemon. */
  pid?: number;
  /** An absolute path. */
  program?: string;
  /** Whether it runs this binary for this home. */
  current: boolean;
  hint?: string;
}

export type InstalledService = z.output<ReturnType<typeof installedServiceSchema>>;

export interface Service {
  readonly kind: ServiceKind;
  status(): Promise<ServiceStatus>;
  /** Whether a unit of this home is installed; faster than the whole status. */
  isInstalled(): Promise<boolean>;
  /**
   * Writes the unit, to start at the next login.
   * @throws {SvcError} not_found without a service manager; conflict without a binary, or for a
   * unit of another home; permission_denied when the system needs more rights
   */
  install(): Promise<InstalledService>;
  /**
   * Removes the unit if there is one; all data stays.
   * @param options.stop stops its daemon first, gracefully, and waits
   * @throws {SvcError} conflict for a unit of another home; internal
   */
  remove(options: { stop: boolean }): Promise<void>;
  /** Starts the unit's daemon unless it runs. @throws {SvcError} internal. */
  start(): Promise<void>;
  /** Stops its daemon and starts another at the same port, where that is possible. */
  restart?(): Promise<void>;
}

export interface ServiceOptions {
  paths: HomePaths;
  env: Env;
  uid: number;
  /**
   * Asks a person for their account's password; null without an answer. Windows needs it once, at
   * the installation.
   */
  askPassword?(account: string): string | null;
}

/** Returns the unit of this user. */
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

/** For systems without a known service manager or without a home directory. */
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
