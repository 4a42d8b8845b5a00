/** Time for the task engine; tests replace it. */
export interface Clock {
  /** Milliseconds since 1970. May jump. */
  now(): number;
  /** Calls back once, by a monotonic clock; keeps no process alive. Returns its cancel function. */
  after(ms: number, call: () => void): () => void;
}

/** Waits, at most until the signal fires. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const stop = () => resolve();
  signal.addEventListener("abort", stop, { once: true });
  await promise;
  cancel();
  signal.removeEventListener("abort", stop);
}

/** Longer delays do not fit the 31 bits of a timer, which would then fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, Math.min(ms, TIMER_MAX_MS));
    Deno.unrefTimer(timer);
    return () => clearTimeout(timer);
  },
};
