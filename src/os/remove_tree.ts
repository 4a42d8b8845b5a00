import { join } from "@std/path";

/**
 * Removes a directory with its contents, even if permissions in it were removed. Ignores a missing
 * one. Use it only when nothing runs in it any more.
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

/** Makes a directory and all below it accessible to the owner; follows no link. */
async function openUp(path: string): Promise<void> {
  await Deno.chmod(path, 0o700);
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory) await openUp(join(path, name));
  }
}
