/** The background unit as the daemon's own verbs see it. Loaded when one of them is first called. */
import { STOP_GRACE_S } from "./limits.ts";
import {
  type InstalledService,
  openService,
  type ServiceOptions,
  type ServiceStatus,
} from "./service.ts";
import { startProgram } from "../../os/start.ts";

export interface DaemonServiceOptions extends ServiceOptions {
  /** Whether this daemon takes tasks for hire: no other is then started in its place. */
  hires(): boolean;
  shutdown(grace_s: number): void;
}

/** The unit of this daemon's user. */
export interface DaemonService {
  status(): Promise<ServiceStatus>;
  /** Installs the unit; this daemon, where it is not the unit's, then hands over to one that is. */
  install(): Promise<ServiceStatus & InstalledService>;
  /** Removes the unit; its daemon stops, also when it is this one. */
  uninstall(): Promise<ServiceStatus>;
}

/** Makes it. */
export async function daemonService(options: DaemonServiceOptions): Promise<DaemonService> {
  const service = await openService(options);
  return {
    status: () => service.status(),
    async install() {
      const installed = await service.install();
      const status = await service.status();
      if (status.pid === Deno.pid) {
        const hint = "`svc serve restart` applies the changed unit";
        return { ...status, ...installed, ...(installed.changed ? { hint } : {}) };
      }
      if (options.hires()) {
        const hint =
          "this daemon accepts tasks for hire and keeps running; the unit starts at the next login";
        return { ...status, ...installed, hint };
      }
      handOver(status.program!);
      const hint = "this daemon stops and the unit's daemon replaces it";
      return { ...status, ...installed, hint };
    },
    async uninstall() {
      const { pid } = await service.status();
      const is_own = pid === Deno.pid;
      // Waiting for the own end would never come to one.
      await service.remove({ stop: !is_own });
      const status = await service.status();
      // What the caller is told goes out while it stops.
      if (is_own) options.shutdown(STOP_GRACE_S);
      return status;
    },
  };
}

/**
 * Starts what waits for the end of this daemon and starts the unit's, and outlives this process.
 *
 * @param program that the unit runs. This process's own may have been replaced.
 */
function handOver(program: string): void {
  startProgram("svc serve restart", program, {
    args: ["serve", "restart"],
    // A daemon that it has to start itself, the unit failing, is nobody's child.
    env: { SVC_SIDECAR: "" },
    cwd: "/",
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).unref();
}

/** The services of the verbs of the background unit. */
export interface ServiceServices {
  /** The background unit of this user, loaded on first use. */
  service(): Promise<DaemonService>;
}
