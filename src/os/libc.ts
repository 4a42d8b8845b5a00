/**
 * Opens the C library. deno.json grants `ffi` for exactly these paths: a bare `libc.so.6` would be
 * looked up in the working directory.
 */
import { lacksForNow } from "./lacks.ts";

const CANDIDATES: Partial<Record<typeof Deno.build.os, readonly string[]>> = {
  linux: [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/aarch64-linux-gnu/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/usr/lib/libc.so.6",
  ],
  darwin: ["/usr/lib/libSystem.B.dylib"],
};

/** For the `ffi` permission of a worker. */
export const LIBC_PATHS: readonly string[] = CANDIDATES[Deno.build.os] ?? [];

/**
 * Opens the C library with the given symbols.
 *
 * @returns `undefined` without a usable library (another libc, or no `ffi` permission); callers do
 * without and report it in `svc doctor`
 * @throws {Error} when the system lacks resources for now
 */
export function openLibc<const S extends Deno.ForeignLibraryInterface>(
  symbols: S,
): Deno.DynamicLibrary<S> | undefined {
  for (const path of LIBC_PATHS) {
    try {
      return Deno.dlopen(path, symbols);
    } catch (error) {
      if (lacksForNow(error)) throw error;
    }
  }
  return undefined;
}
