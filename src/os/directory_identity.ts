/** What a directory is, whatever its path: how it is found again after it was renamed. */
import type { DirectoryIdentity } from "../protocol/event_data.ts";

/** Returns what the directory at a path is; undefined where there is none, or only a link to one. */
export function directoryAt(path: string): DirectoryIdentity | undefined {
  try {
    return identityIn(Deno.lstatSync(path));
  } catch {
    return undefined;
  }
}

/** As {@linkcode directoryAt}, holding nobody else up. */
export async function lookForDirectory(path: string): Promise<DirectoryIdentity | undefined> {
  return await Deno.lstat(path).then(identityIn, () => undefined);
}

/**
 * Reports whether two directories are the same one beyond doubt. A number is given to another
 * directory once its own is gone, so the time at which it was made has to be the same.
 */
export function isSameDirectory(a: DirectoryIdentity, b: DirectoryIdentity): boolean {
  return a.dev === b.dev && isSameButForDevice(a, b);
}

/**
 * Reports whether two are the same as far as their file system can say: a device may have another
 * number after the machine has started again.
 */
export function isSameButForDevice(a: DirectoryIdentity, b: DirectoryIdentity): boolean {
  return a.ino === b.ino && a.made_ms === b.made_ms;
}

/**
 * Reports whether nothing says that two are different ones. File systems that do not keep when a
 * directory was made, such as those in user space, may give it another number while it is there.
 */
export function couldBeSameDirectory(a: DirectoryIdentity, b: DirectoryIdentity): boolean {
  return isSameDirectory(a, b) || a.made_ms === undefined && b.made_ms === undefined;
}

function identityIn(info: Deno.FileInfo): DirectoryIdentity | undefined {
  const { dev, ino, birthtime } = info;
  if (!info.isDirectory || dev === null || ino === null) return undefined;
  return { dev, ino, ...(birthtime !== null && { made_ms: birthtime.getTime() }) };
}
