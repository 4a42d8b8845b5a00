/** Lists directories for a person to pick one. */
import type * as z from "zod";
import { basename, dirname, isAbsolute, join } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { directoryListingSchema, directorySchema } from "../protocol/schemas/daemon.ts";

export type Directory = z.output<ReturnType<typeof directorySchema>>;

export type DirectoryListing = z.output<ReturnType<typeof directoryListingSchema>>;

/**
 * Lists the directories in a directory, and links to directories.
 *
 * @param options.hidden also those whose name begins with a dot
 * @throws {SvcError} validation when the path is not absolute or not a directory, not_found when it
 * is missing, permission_denied when it cannot be read
 */
export async function listDirectories(
  path: string,
  { hidden, limit }: { hidden: boolean; limit: number },
): Promise<DirectoryListing> {
  const quoted = JSON.stringify(path);
  if (!isAbsolute(path)) {
    throw new SvcError("validation", `${quoted} is not absolute`, { hint: "give the full path" });
  }
  if (path.includes("\0")) throw new SvcError("validation", `${quoted} contains a NUL byte`);
  let real: string;
  const names: string[] = [];
  try {
    real = await Deno.realPath(path);
    for await (const { name, isDirectory, isSymlink } of Deno.readDir(real)) {
      if (!hidden && name.startsWith(".")) continue;
      if (isDirectory || (isSymlink && await isDirectoryAt(join(real, name)))) names.push(name);
    }
  } catch (error) {
    throw refusal(error, quoted);
  }
  const kept = names.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).slice(0, limit);
  return {
    path: real,
    parent: dirname(real) === real ? undefined : dirname(real),
    directories: await Promise.all(kept.map((name) => describe(join(real, name)))),
    truncated: kept.length < names.length,
  };
}

async function describe(path: string): Promise<Directory> {
  return { name: basename(path), path, repository: await exists(join(path, ".git")) };
}

async function isDirectoryAt(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}

function refusal(error: unknown, quoted: string): SvcError {
  if (error instanceof Deno.errors.NotFound) {
    return new SvcError("not_found", `there is no directory ${quoted}`, { cause: error });
  }
  if (error instanceof Deno.errors.NotADirectory) {
    return new SvcError("validation", `${quoted} is not a directory`, { cause: error });
  }
  return new SvcError("permission_denied", `${quoted} cannot be read: ${messageOf(error)}`, {
    cause: error,
  });
}
