/**
 * Returns memory to the system when the daemon is at rest. V8 collects only when it allocates, and
 * glibc keeps freed memory.
 */
import { openLibc } from "./libc.ts";

/** Growth of the resident memory in bytes that is worth a pause. */
const WORTHWHILE = 8 * 1024 * 1024;

type Collect = (
  options: { type: "major"; execution: "sync"; flavor?: "last-resort" },
) => void;

/** Returns the function that frees memory. It pauses for up to 0.1 s, so call it at rest only. */
export function memoryTrimmer(): () => void {
  const libc = openLibc({ malloc_trim: { parameters: ["usize"], result: "i32" } });
  let settled = 0;
  return () => {
    if (Deno.memoryUsage().rss < settled + WORTHWHILE) return;
    collectGarbage();
    libc?.symbols.malloc_trim(0n);
    settled = Deno.memoryUsage().rss;
  };
}

/**
 * Collects this thread's garbage, if the program was compiled with --expose-gc.
 *
 * @param for_good whether to return the pages that V8 keeps for later, which takes much longer
 */
export function collectGarbage(for_good = true): void {
  const { gc } = globalThis as { gc?: Collect };
  const flavor = for_good ? "last-resort" : undefined;
  gc?.({ type: "major", execution: "sync", ...flavor && { flavor } });
}
