/**
 * The directory of the installed binary (contract.md section 1). After any interruption, `svc` is
 * complete: the old one or the new one.
 */
import { basename, dirname, extname, join } from "@std/path";
import { checkPrivate, exists, readDirIfAny, syncDir } from "../../os/files.ts";

const WINDOWS = Deno.build.os === "windows";
/** Others can run the binary, but not change it. */
const DIR_MODE = 0o755;
/** Also used by the install scripts. */
const TEMPORARY = ".update-";

/**
 * Creates or checks the binary's directory. @throws {SvcError} permission_denied if others can
 * write.
 */
export function ensureBinDir(binary: string): void {
  const dir = dirname(binary);
  if (!checkPrivate(dir, DIR_MODE, "dir")) Deno.mkdirSync(dir, { recursive: true, mode: 0o700 });
}

/** Returns the path of the replaced binary: `svc.previous`. */
export function previousOf(binary: string): string {
  const extension = extname(binary);
  return join(dirname(binary), `${basename(binary, extension)}.previous${extension}`);
}

/** Returns a new path beside the binary, for {@linkcode removeTemporaries} to remove. */
export function temporaryBeside(binary: string, suffix: string): string {
  return join(dirname(binary), `${TEMPORARY}${crypto.randomUUID()}${suffix}`);
}

/** Removes the files of this or a killed update. The caller holds the update lock. */
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

/** Replaces the binary with a temporary file, and keeps the old one. */
export function putInPlace(binary: string, fresh: string): void {
  if (exists(binary)) {
    // Until the next line, both names are the old binary.
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

/** Swaps the binary with the previous one. */
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

/** A hard link, or a copy if the file system has none. */
function linkTo(path: string): string {
  const link = temporaryBeside(path, extname(path));
  try {
    Deno.linkSync(path, link);
  } catch {
    Deno.copyFileSync(path, link);
  }
  return link;
}

/** Windows can rename a running program's file, but not replace it. */
function moveAway(binary: string): void {
  const previous = previousOf(binary);
  if (exists(previous)) Deno.renameSync(previous, temporaryBeside(binary, ".old"));
  Deno.renameSync(binary, previous);
}
