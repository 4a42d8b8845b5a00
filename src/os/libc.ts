/**
 * Opens the C library. Its candidate paths are exactly the ones deno.json grants as `ffi`
 * permission: a bare `libc.so.6` would be looked up in the process working directory.
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

/** The paths that {@linkcode openLibc} tries, for the `ffi` permission of a worker. */
export const LIBC_PATHS: readonly string[] = CANDIDATES[Deno.build.os] ?? [];

/**
 * Opens the C library with the given symbols.
 *
 * @returns the library, or `undefined` where there is none that may be opened (another libc, or no
 * `ffi` permission); callers then do without and say so in `svc doctor`.
 * @throws {Error} when it cannot be opened for now
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
