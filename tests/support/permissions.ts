import "./surroundings.ts";
import { LIBC_PATHS } from "../../src/os/libc.ts";

/**
 * Whether the test run has these permissions without limits, for `ignore: !granted(…)`: what a run
 * may not do is left out there, not failed.
 *
 * `ffi` counts as granted when the C library may be opened.
 */
export function granted(...names: Deno.PermissionName[]): boolean {
  return names.every((name) => {
    const descriptor: Deno.PermissionDescriptor = name === "ffi"
      ? { name, path: LIBC_PATHS[0] }
      : { name };
    return Deno.permissions.querySync(descriptor).state === "granted";
  });
}
