import { statfsSync } from "node:fs";

/** Linux file systems of this machine alone, as `statfs` names them. */
const LOCAL = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x1021994, // tmpfs
  0x794c7630, // overlayfs
  0xf2f52010, // F2FS
  0x2fc12fc1, // ZFS
]);

/**
 * Returns the device of a directory whose file system only this kernel changes (Linux). There a
 * directory has a `ctime` to rely on, and each change is noted.
 *
 * @param path an absolute real path
 * @returns undefined for another one, and if that cannot be seen
 */
export function localDevice(path: string): number | undefined {
  if (Deno.build.os !== "linux") return undefined;
  try {
    return LOCAL.has(statfsSync(path).type) ? Deno.lstatSync(path).dev : undefined;
  } catch {
    return undefined;
  }
}
