import { lazy } from "../base/lazy.ts";
import { openKernel, SystemError } from "./openat2.ts";
import { SvcError } from "../protocol/errors.ts";

/** The C library. It stays open: to open it takes milliseconds. */
const library = lazy(openKernel);

/**
 * Tells a directory from whatever takes its place later: a program that was started on the path can
 * compare what it got.
 *
 * @param path an absolute real path.
 * @returns device and inode, as `stat -c %d:%i` prints them.
 * @throws {SvcError} validation when it is gone, or a part of it is a symlink now.
 */
export function identityOf(path: string): string {
  const kernel = library();
  if (kernel === undefined) return portableIdentity(path);
  try {
    const opened = kernel.openReal(path);
    try {
      return kernel.identity(opened);
    } finally {
      opened[Symbol.dispose]();
    }
  } catch (error) {
    throw error instanceof SystemError ? moved(path, error) : error;
  }
}

/** Without the C library a link may come between the two looks. */
function portableIdentity(path: string): string {
  try {
    if (Deno.realPathSync(path) !== path) throw moved(path);
    const { dev, ino } = Deno.lstatSync(path);
    return `${dev}:${ino}`;
  } catch (error) {
    throw error instanceof Deno.errors.NotFound ? moved(path, error) : error;
  }
}

function moved(path: string, cause?: Error): SvcError {
  return new SvcError("validation", `${path} was moved while the task was waiting`, { cause });
}
