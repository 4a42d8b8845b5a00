/** Replaces a file so that everything but its content stays: its mode, its owner and its names. */
import { type Descriptor, type FileStat, type Kernel, O, SystemError } from "../os/openat2.ts";

/** What is written, and where. */
export interface Replacement {
  directory: Descriptor;
  name: string;
  data: Uint8Array<ArrayBuffer>;
  /** What the name stands for now. */
  existing?: { fd: Descriptor; stat: FileStat };
  /** Permission bits; without them a new file gets the usual ones. */
  mode?: number;
  /** A name beside it, for the time until it is whole. */
  temporary: string;
}

const PERMISSIONS = 0o777;

/**
 * Writes the whole file or nothing. A new file takes the place of the old one, except where that
 * would take a name from it, or give it another owner: then its content is exchanged.
 *
 * @throws {SystemError}
 */
export function replaceFile(kernel: Kernel, to: Replacement): void {
  const { existing } = to;
  const exchanges = (existing?.stat.names ?? 1) > 1 && exchanged(kernel, to);
  if (!exchanges && !renamed(kernel, to) && !exchanged(kernel, to)) renamed(kernel, to, false);
}

/** @returns whether the file was replaced; not if the new one could not have the old one's owner */
function renamed(
  kernel: Kernel,
  { directory, name, data, existing, mode, temporary }: Replacement,
  same_owner = true,
): boolean {
  // Until a replacement has the old file's mode, nobody else can read it.
  using file = kernel.createIn(directory, temporary, mode === undefined ? 0o666 : 0o600);
  try {
    const owner = existing?.stat.owner;
    const { owner: own } = kernel.stat(file);
    const differs = owner !== undefined && (owner.uid !== own?.uid || owner.gid !== own.gid);
    if (differs && same_owner && !kernel.giveTo(file, owner)) {
      kernel.unlinkIn(directory, temporary);
      return false;
    }
    kernel.write(file, data);
    if (mode !== undefined) kernel.changeMode(file, mode & PERMISSIONS);
    kernel.renameIn(directory, temporary, name);
    return true;
  } catch (error) {
    kernel.unlinkIn(directory, temporary);
    throw error;
  }
}

/** Writes into the file that is there. @returns false where it cannot be opened for that. */
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
    // What makes it longer comes first: if there is no space, the file is still as it was.
    try {
      if (data.length > size) kernel.writeAt(file, data.subarray(size), size);
    } catch (error) {
      kernel.cut(file, size);
      throw error;
    }
    kernel.writeAt(file, data.subarray(0, size), 0);
    kernel.cut(file, data.length);
    if (mode !== undefined && mode !== has) kernel.changeMode(file, mode & PERMISSIONS);
    return true;
  } finally {
    file[Symbol.dispose]();
  }
}
