import { join } from "@std/path";

/**
 * Removes a directory with all that is in it, also where somebody has taken the permission to look
 * into a part of it. That nothing is there is no error.
 *
 * For a directory in which nothing runs any more.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    if (!(error instanceof Deno.errors.PermissionDenied)) throw error;
    await openUp(path);
    await Deno.remove(path, { recursive: true });
  }
}

/** Lets its owner into a directory and all below it; no link is followed. */
async function openUp(path: string): Promise<void> {
  await Deno.chmod(path, 0o700);
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory) await openUp(join(path, name));
  }
}
