/** Replaces a file's content but keeps its mode, owner and hard links. */
import { type Descriptor, type FileStat, type Kernel, O, SystemError } from "../os/openat2.ts";

export interface Replacement {
  directory: Descriptor;
  name: string;
  data: Uint8Array<ArrayBuffer>;
  existing?: { fd: Descriptor; stat: FileStat };
  /** Permission bits; a new file gets the usual ones by default. */
  mode?: number;
  /** A name beside it, for a moment or until it is complete. */
  temporary: string;
}

const PERMISSIONS = 0o777;

/**
 * Writes the whole file or nothing. Renames a new file over the old one. If that would break a hard
 * link or change the owner, overwrites the old file's content. @throws {SystemError}
 */
export function replaceFile(kernel: Kernel, to: Replacement): void {
  const { existing } = to;
  const exchanges = (existing?.stat.names ?? 1) > 1 && exchanged(kernel, to);
  if (!exchanges && !renamed(kernel, to) && !exchanged(kernel, to)) renamed(kernel, to, false);
}

/** @returns false if the new file could not have the old one's owner */
function renamed(
  kernel: Kernel,
  { directory, name, data, existing, mode, temporary }: Replacement,
  same_owner = true,
): boolean {
  // Until a replacement has the old file's mode, nobody else can read it.
  const first_mode = mode === undefined ? 0o666 : 0o600;
  // Without a name, so that nothing is left of it if this process is killed while it writes.
  const unnamed = kernel.createUnnamedIn(directory, first_mode);
  using file = unnamed ?? kernel.createIn(directory, temporary, first_mode);
  try {
    const owner = existing?.stat.owner;
    const { owner: own } = kernel.stat(file);
    const differs = owner !== undefined && (owner.uid !== own?.uid || owner.gid !== own.gid);
    if (differs && same_owner && !kernel.giveTo(file, owner)) {
      kernel.unlinkIn(directory, temporary);
      return false;
    }
    kernel.write(file, data, 0);
    if (mode !== undefined) kernel.changeMode(file, mode & PERMISSIONS);
    if (unnamed !== undefined) kernel.nameIn(unnamed, directory, temporary);
    kernel.renameIn(directory, temporary, name);
    return true;
  } catch (error) {
    kernel.unlinkIn(directory, temporary);
    throw error;
  }
}

/** Overwrites the existing file. @returns false if it cannot be opened */
function exchanged(kernel: Kernel, { data, existing, mode }: Replacement): boolean {
  if (existing === undefined) return false;
  let file: Descriptor;
  try {
    file = kernel.reopen(existing.fd, O.WRONLY | O.NONBLOCK);
  } catch (error) {
    if (error instanceof SystemError) return false;
    throw error;
  }
  try {
    const { size, mode: has } = existing.stat;
    // Extend it first: without space, the file stays as it was.
    try {
      if (data.length > size) kernel.write(file, data.subarray(size), size);
    } catch (error) {
      kernel.cut(file, size);
      throw error;
    }
    kernel.write(file, data.subarray(0, size), 0);
    kernel.cut(file, data.length);
    if (mode !== undefined && mode !== has) kernel.changeMode(file, mode & PERMISSIONS);
    return true;
  } finally {
    file[Symbol.dispose]();
  }
}
