/** The background unit for the daemon's verbs. Loaded when one is first called. */
import { STOP_GRACE_S } from "./limits.ts";
import {
  type InstalledService,
  openService,
  type ServiceOptions,
  type ServiceStatus,
} from "./service.ts";
import { startProgram } from "../../os/start.ts";

interface DaemonServiceOptions extends ServiceOptions {
  /** Whether it takes tasks for hire: it is then not replaced. */
  hires(): boolean;
  shutdown(grace_s: number): void;
}

interface DaemonService {
  status(): Promise<ServiceStatus>;
  /** Installs the unit; if this daemon is not the unit's, the unit's replaces it. */
  install(): Promise<ServiceStatus & InstalledService>;
  /** Removes the unit and stops its daemon, even if it is this one. */
  uninstall(): Promise<ServiceStatus>;
}

/** Opens the background unit of this daemon's user. */
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
      // Waiting for its own end would never finish.
      await service.remove({ stop: !is_own });
      const status = await service.status();
      // The caller gets the answer while it stops.
      if (is_own) options.shutdown(STOP_GRACE_S);
      return status;
    },
  };
}

/**
 * Starts a process that outlives this daemon and then starts the unit's.
 * @param program the unit's: this process's own may have been replaced
 */
function handOver(program: string): void {
  startProgram("svc serve restart", program, {
    args: ["serve", "restart"],
    // If the unit fails, the daemon that it starts itself is nobody's child.
    env: { SVC_SIDECAR: "" },
    cwd: "/",
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).unref();
}

export interface ServiceServices {
  /** Loaded on first use. */
  service(): Promise<DaemonService>;
}
