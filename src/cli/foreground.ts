/** How a long-running process handles signals and defects. */
import type { Runtime } from "../daemon/runtime.ts";
import { STOP_GRACE_S } from "../features/service/limits.ts";

/** Keeps running after a defect: it must not end the other sessions. */
export function surviveDefects({ log }: Runtime): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("unhandled rejection", { error: event.reason?.stack ?? String(event.reason) });
  });
}

/**
 * Stops gracefully at the first signal, at once at the second.
 *
 * @param detached whether it outlives the terminal that started it.
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
    // The terminal of the client that started it may close.
    Deno.addSignalListener("SIGHUP", detached ? () => {} : onSignal);
  }
}
