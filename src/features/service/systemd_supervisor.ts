import { notifyServiceManager } from "../../os/service_notify.ts";
import { STOP_MARGIN_S } from "./limits.ts";
import type { Supervisor } from "./supervisor.ts";

/**
 * The systemd that started this process; see sd_notify(3).
 *
 * @param socket what NOTIFY_SOCKET says.
 */
export function systemdSupervisor(socket: string): Supervisor {
  return {
    ready: () => void notifyServiceManager(socket, "READY=1"),
    stopping(grace_s) {
      const timeout_us = (grace_s + STOP_MARGIN_S) * 1_000_000;
      // A start that is asked for from now on waits for the end of this daemon.
      notifyServiceManager(socket, `STOPPING=1\nEXTEND_TIMEOUT_USEC=${timeout_us}`);
    },
    // systemd sees the process end.
    stopped() {},
  };
}
