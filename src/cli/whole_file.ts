import { exists } from "../os/files.ts";
import { SvcError } from "../protocol/errors.ts";

/**
 * Writes a file that appears only once it is complete.
 *
 * @param hint what to do if the file exists and must not be replaced
 * @throws {SvcError} conflict in that case
 */
export async function writeWhole(
  path: string,
  { replace, hint }: { replace: boolean; hint: string },
  write: (file: Deno.FsFile) => Promise<void>,
): Promise<void> {
  const refused = () => new SvcError("conflict", `${path} already exists`, { hint });
  if (!replace && exists(path)) throw refused();
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    using file = await Deno.open(temporary, { createNew: true, write: true, mode: 0o600 });
    await write(file);
    await file.sync();
    if (replace) await Deno.rename(temporary, path);
    else await Deno.link(temporary, path);
  } catch (error) {
    throw error instanceof Deno.errors.AlreadyExists ? refused() : error;
  } finally {
    await Deno.remove(temporary).catch(() => {});
  }
}
