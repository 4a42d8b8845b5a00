/** Replaces a file through Deno's own API, like `replace_file.ts`. */

export interface PathReplacement {
  existing?: Deno.FileInfo;
  /** Permission bits; a new file gets the usual ones by default. */
  mode?: number | null;
  /** A path beside it until it is complete. */
  temporary?: string;
}

/** Returns a unique path beside another. */
export function temporaryPath(path: string): string {
  return `${path}.${crypto.randomUUID().slice(0, 8)}.tmp`;
}

/** Writes a whole file or nothing. Keeps the existing file's owner and hard links. */
export function replacePath(
  path: string,
  data: Uint8Array<ArrayBuffer>,
  { existing, mode, temporary = temporaryPath(path) }: PathReplacement,
): void {
  const has_more = existing?.isFile === true && (existing.nlink ?? 1) > 1;
  if (has_more && exchanged(path, data)) return;
  try {
    // Until a replacement has the old file's mode, nobody else can read it.
    const first = typeof mode === "number" ? { mode: 0o600 } : {};
    Deno.writeFileSync(temporary, data, { createNew: true, ...first });
    if (!sameOwner(temporary, existing) && exchanged(path, data)) {
      Deno.removeSync(temporary);
      return;
    }
    // Windows has no mode to preserve.
    if (typeof mode === "number" && Deno.build.os !== "windows") {
      Deno.chmodSync(temporary, mode & 0o777);
    }
    Deno.renameSync(temporary, path);
  } catch (error) {
    try {
      Deno.removeSync(temporary);
    } catch {
      // It was not created, or was already renamed: report the first error.
    }
    throw error;
  }
}

/** Gives a new file to the owner of the old one. @returns whether it has that owner */
function sameOwner(path: string, existing: Deno.FileInfo | undefined): boolean {
  const { uid, gid } = existing ?? {};
  if (Deno.build.os === "windows" || typeof uid !== "number" || typeof gid !== "number") {
    return true;
  }
  const own = Deno.lstatSync(path);
  if (own.uid === uid && own.gid === gid) return true;
  try {
    Deno.chownSync(path, uid, gid);
    return true;
  } catch {
    return false;
  }
}

/** Overwrites the existing file. @returns false if it cannot be opened */
function exchanged(path: string, data: Uint8Array<ArrayBuffer>): boolean {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path, { write: true });
  } catch {
    return false;
  }
  try {
    // Extend it first: without space, the file stays as it was.
    const { size } = file.statSync();
    try {
      if (data.length > size) writeAt(file, data.subarray(size), size);
    } catch (error) {
      file.truncateSync(size);
      throw error;
    }
    writeAt(file, data.subarray(0, size), 0);
    file.truncateSync(data.length);
    return true;
  } finally {
    file.close();
  }
}

function writeAt(file: Deno.FsFile, data: Uint8Array, position: number): void {
  file.seekSync(position, Deno.SeekMode.Start);
  for (let done = 0; done < data.length;) done += file.writeSync(data.subarray(done));
}
