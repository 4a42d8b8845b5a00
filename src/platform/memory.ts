/**
 * Gives memory back when the daemon comes to rest. Nobody else does: V8 collects when it allocates,
 * and glibc keeps what was freed for the next time.
 */
import { openLibc } from "./libc.ts";

/** Growth of the resident memory, in bytes, below which collecting is not worth its pause. */
const WORTHWHILE = 8 * 1024 * 1024;

/** Makes the function that gives memory back; call it when nothing runs. */
export function memoryTrimmer(): () => void {
  const libc = openLibc({ malloc_trim: { parameters: ["usize"], result: "i32" } });
  // There when the program was compiled with --expose-gc.
  const { gc } = globalThis as { gc?: () => void };
  let least = Infinity;
  return () => {
    if (Deno.memoryUsage().rss < least + WORTHWHILE) return;
    gc?.();
    libc?.symbols.malloc_trim(0n);
    least = Math.min(least, Deno.memoryUsage().rss);
  };
}
