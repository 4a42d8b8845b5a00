/**
 * The directory of the installed binary (contract.md section 1). Whatever is done here, and wherever
 * it is cut off, `svc` is there and whole: the old one or the new one.
 */
import { basename, dirname, extname, join } from "@std/path";
import { checkPrivate, exists, readDirIfAny, syncDir } from "../../os/files.ts";

const WINDOWS = Deno.build.os === "windows";
/** Others may run what is here, not change it. */
const DIR_MODE = 0o755;
/** The install scripts use it too. */
const TEMPORARY = ".update-";

/**
 * Makes the directory of the binary, or checks the one that is there.
 *
 * @throws {SvcError} permission_denied when others could put something there.
 */
export function ensureBinDir(binary: string): void {
  const dir = dirname(binary);
  if (!checkPrivate(dir, DIR_MODE, "dir")) Deno.mkdirSync(dir, { recursive: true, mode: 0o700 });
}

/** Where the binary that was replaced is kept: `svc.previous`. */
export function previousOf(binary: string): string {
  const extension = extname(binary);
  return join(dirname(binary), `${basename(binary, extension)}.previous${extension}`);
}

/** A new path next to the binary, for a file that {@linkcode removeTemporaries} may remove. */
export function temporaryBeside(binary: string, suffix: string): string {
  return join(dirname(binary), `${TEMPORARY}${crypto.randomUUID()}${suffix}`);
}

/** Removes what this or a killed update left. For the holder of the lock of updates. */
export function removeTemporaries(binary: string): void {
  for (const { name } of readDirIfAny(dirname(binary))) {
    if (!name.startsWith(TEMPORARY)) continue;
    try {
      Deno.removeSync(join(dirname(binary), name), { recursive: true });
    } catch (error) {
      // Windows: a daemon may still run it. A later update removes it.
      if (!WINDOWS) throw error;
    }
  }
}

/** Puts a temporary file in the binary's place and keeps the one that was there. */
export function putInPlace(binary: string, fresh: string): void {
  if (exists(binary)) {
    // From here to the next line both names are the old binary.
    if (WINDOWS) moveAway(binary);
    else Deno.renameSync(linkTo(binary), previousOf(binary));
  }
  try {
    Deno.renameSync(fresh, binary);
  } catch (error) {
    if (!exists(binary) && exists(previousOf(binary))) Deno.renameSync(previousOf(binary), binary);
    throw error;
  }
  syncDir(dirname(binary));
}

/** Exchanges the binary and the one that was kept. */
export function exchangeWithPrevious(binary: string): void {
  const previous = previousOf(binary);
  const fresh = linkTo(previous);
  if (WINDOWS) {
    putInPlace(binary, fresh);
    return;
  }
  const kept = exists(binary) ? linkTo(binary) : undefined;
  Deno.renameSync(fresh, binary);
  if (kept !== undefined) Deno.renameSync(kept, previous);
  syncDir(dirname(binary));
}

/** Another name for the file at a path; a copy where the file system has no such names. */
function linkTo(path: string): string {
  const link = temporaryBeside(path, extname(path));
  try {
    Deno.linkSync(path, link);
  } catch {
    Deno.copyFileSync(path, link);
  }
  return link;
}

/** Windows can rename the file of a running program, but not replace it. */
function moveAway(binary: string): void {
  const previous = previousOf(binary);
  if (exists(previous)) Deno.renameSync(previous, temporaryBeside(binary, ".old"));
  Deno.renameSync(binary, previous);
}
