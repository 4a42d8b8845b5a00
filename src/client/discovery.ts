import { checkPrivate } from "../os/files.ts";
import type { Discovery } from "../protocol/discovery.ts";

/**
 * Reads the discovery file.
 *
 * @returns undefined when there is none, or none that can be read as one.
 * @throws {SvcError} permission_denied when it is not this user's alone: what it names is not trusted.
 */
export async function readDiscovery(path: string): Promise<Discovery | undefined> {
  try {
    checkPrivate(path, 0o600, "file");
    const record = JSON.parse(await Deno.readTextFile(path));
    return typeof record?.port === "number" && typeof record?.token === "string"
      ? record
      : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
