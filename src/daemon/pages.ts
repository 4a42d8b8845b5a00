/** The home's key for pages of the app, which outlives the daemon. */
import { Pages } from "../doors/pages.ts";
import { atomicWrite, readTextIfAny } from "../os/files.ts";
import { importKey, isRandomText, randomText } from "../protocol/page_proof.ts";

/**
 * @param path of the key; it is made if it is missing or damaged
 * @throws the system's error when it cannot be read or written
 */
export async function openPages(path: string, port: number): Promise<Pages> {
  let key = (await readTextIfAny(path))?.trim();
  if (!isRandomText(key)) {
    key = randomText();
    await atomicWrite(path, `${key}\n`, 0o600);
  }
  return new Pages({ home_key: await importKey(key), port });
}
