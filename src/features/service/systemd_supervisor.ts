import { notifyServiceManager } from "../../os/service_notify.ts";
import { STOP_MARGIN_S } from "./limits.ts";
import type { Supervisor } from "./supervisor.ts";

/** Returns the systemd that started this process; see sd_notify(3). @param socket NOTIFY_SOCKET */
export function systemdSupervisor(socket: string): Supervisor {
  return {
    ready: () => void notifyServiceManager(socket, "READY=1"),
    stopping(grace_s) {
      const timeout_us = (grace_s + STOP_MARGIN_S) * 1_000_000;
      // A requested start now waits for the end of this daemon.
      notifyServiceManager(socket, `STOPPING=1\nEXTEND_TIMEOUT_USEC=${timeout_us}`);
    },
    // systemd notices the end of the process.
    stopped() {},
  };
}
