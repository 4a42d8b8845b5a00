import { notifyServiceManager, sendDescriptors } from "../../os/service_notify.ts";
import { STOP_MARGIN_S } from "./limits.ts";
import type { Supervisor } from "./supervisor.ts";

/** The daemon's descriptors in systemd's store, by name. */
const STORED = "svc-port";
/** The first descriptor that systemd passes on. */
const FIRST = 3;

/**
 * Returns the systemd that started this process; see sd_notify(3).
 *
 * @param socket NOTIFY_SOCKET
 * @param passed names of the descriptors that it gave to this process
 */
export function systemdSupervisor(socket: string, passed: readonly string[]): Supervisor {
  return {
    port: {
      kept: passed.flatMap((name, n) => name === STORED ? [FIRST + n] : []),
      // Bound sockets look hung up to a poll, and would be dropped.
      store(descriptors) {
        notifyServiceManager(socket, `FDSTOREREMOVE=1\nFDNAME=${STORED}`);
        return sendDescriptors(socket, `FDSTORE=1\nFDNAME=${STORED}\nFDPOLL=0`, descriptors);
      },
    },
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
