/** Identifies a directory, to find it again after it was renamed. */
import type { DirectoryIdentity } from "../protocol/event_data.ts";

/** Returns the identity of a directory; undefined if it is missing or a link. */
export function directoryAt(path: string): DirectoryIdentity | undefined {
  try {
    return identityIn(Deno.lstatSync(path));
  } catch {
    return undefined;
  }
}

/** Like {@linkcode directoryAt}, without blocking. */
export async function lookForDirectory(path: string): Promise<DirectoryIdentity | undefined> {
  return await Deno.lstat(path).then(identityIn, () => undefined);
}

/**
 * Reports whether two directories are certainly the same. Numbers are reused after a removal, so
 * the creation time must match too.
 */
export function isSameDirectory(a: DirectoryIdentity, b: DirectoryIdentity): boolean {
  return a.dev === b.dev && isSameButForDevice(a, b);
}

/**
 * Like {@linkcode isSameDirectory}, except for the device, whose number may change when the machine
 * restarts.
 */
export function isSameButForDevice(a: DirectoryIdentity, b: DirectoryIdentity): boolean {
  return a.ino === b.ino && a.made_ms === b.made_ms;
}

/**
 * Reports whether two directories may be the same. File systems without creation times, such as
 * those in user space, may change the number of an existing directory.
 */
export function couldBeSameDirectory(a: DirectoryIdentity, b: DirectoryIdentity): boolean {
  return isSameDirectory(a, b) || a.made_ms === undefined && b.made_ms === undefined;
}

function identityIn(info: Deno.FileInfo): DirectoryIdentity | undefined {
  const { dev, ino, birthtime } = info;
  if (!info.isDirectory || dev === null || ino === null) return undefined;
  return { dev, ino, ...(birthtime !== null && { made_ms: birthtime.getTime() }) };
}
