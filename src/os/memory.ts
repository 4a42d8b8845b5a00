/**
 * Gives memory back when the daemon comes to rest. Nobody else does: V8 collects when it allocates,
 * and glibc keeps what was freed for the next time.
 */
import { openLibc } from "./libc.ts";

/** Growth of the resident memory, in bytes, below which collecting is not worth its pause. */
const WORTHWHILE = 8 * 1024 * 1024;

type Collect = (
  options: { type: "major"; execution: "sync"; flavor?: "last-resort" },
) => void;

/** Makes the function that gives memory back; it pauses for up to 0.1 s, so call it at rest only. */
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
 * Collects the garbage of this thread, where the program was compiled with --expose-gc.
 *
 * @param for_good whether to give the pages back that V8 keeps for later, which takes much longer
 */
export function collectGarbage(for_good = true): void {
  const { gc } = globalThis as { gc?: Collect };
  const flavor = for_good ? "last-resort" : undefined;
  gc?.({ type: "major", execution: "sync", ...flavor && { flavor } });
}
