import { lazy } from "../base/lazy.ts";
import { openKernel, SystemError } from "./openat2.ts";
import { SvcError } from "../protocol/errors.ts";

/** Stays open, because opening the C library takes milliseconds. */
const library = lazy(openKernel);

/**
 * Returns device and inode of a directory, as `stat -c %d:%i` prints them. A program that starts
 * there can check whether it was replaced.
 *
 * @param path an absolute real path
 * @throws {SvcError} validation when it is gone, or contains a symlink now
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

/** Without the C library, a link may appear between the two calls. */
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
