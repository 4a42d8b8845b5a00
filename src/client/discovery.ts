import { checkPrivate } from "../os/files.ts";
import type { Discovery } from "../protocol/discovery.ts";

/**
 * Reads the discovery file; undefined when it is missing or invalid.
 *
 * @throws {SvcError} permission_denied when it is not private, and so not trusted
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
