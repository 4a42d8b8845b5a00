/** What a process that runs until it is told to stop does about signals and defects. */
import type { Runtime } from "../daemon/runtime.ts";
import { STOP_GRACE_S } from "../features/service/limits.ts";

/** A defect in one session must not take the others down with it. */
export function surviveDefects({ log }: Runtime): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("unhandled rejection", { error: event.reason?.stack ?? String(event.reason) });
  });
}

/**
 * Stops gracefully at the first signal, at once at the second.
 *
 * @param detached whether it is to outlive the terminal that it was started from.
 */
export function stopOnSignals(runtime: Runtime, detached: boolean): void {
  let asked = false;
  const onSignal = () => {
    if (asked) Deno.exit(1);
    asked = true;
    runtime.shutdown(STOP_GRACE_S);
  };
  Deno.addSignalListener("SIGINT", onSignal);
  if (Deno.build.os !== "windows") {
    Deno.addSignalListener("SIGTERM", onSignal);
    // The terminal that a client started it from may close; the one it runs in itself may not.
    Deno.addSignalListener("SIGHUP", detached ? () => {} : onSignal);
  }
}
