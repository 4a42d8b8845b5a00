/** Saves and removes API keys, for `svc login` and `svc logout`. */

import { delay } from "@std/async";
import { atomicWrite, ensurePrivateDir } from "../os/files.ts";
import { type Lock, takeLock } from "../os/lock.ts";
import type { HomePaths } from "../os/paths.ts";
import { SvcError } from "../protocol/errors.ts";
import { KeyFile, type Keys, type SavedKey } from "./key_file.ts";

type KeyPaths = Pick<HomePaths, "home" | "keys" | "keys_lock">;

/** How long a change waits for another one. */
const LOCK_MS = 10_000;
const LOOK_MS = 20;
/** A starting daemon removes unfinished files from the home, so a write may have to be repeated. */
const WRITES = 5;
/** The longest key; current ones are shorter than 300 characters. */
const KEY_MAX = 8_192;

/**
 * Saves or replaces a provider's key. @throws {SvcError} like {@linkcode KeyFile.get}; conflict if
 * another process keeps the file locked
 */
export async function saveKey(paths: KeyPaths, provider: string, key: SavedKey): Promise<void> {
  await change(paths, (keys) => ({ ...keys, [provider]: key }));
}

/** Removes a provider's key. @returns whether there was one. @throws as {@linkcode saveKey} */
export async function removeKey(paths: KeyPaths, provider: string): Promise<boolean> {
  let found = false;
  await change(paths, ({ [provider]: removed, ...keys }) => {
    found = removed !== undefined;
    return found ? keys : undefined;
  });
  return found;
}

/** @param edit returns the new keys; undefined if nothing changes */
async function change(paths: KeyPaths, edit: (keys: Keys) => Keys | undefined): Promise<void> {
  const { home, keys: path } = paths;
  ensurePrivateDir(home);
  const lock = await takeKeysLock(paths);
  try {
    const edited = edit(new KeyFile(path).all());
    if (edited === undefined) return;
    const text = `${JSON.stringify(edited, null, 2)}\n`;
    for (let writes = 1;; writes++) {
      try {
        return await atomicWrite(path, text, 0o600);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound) || writes === WRITES) throw error;
      }
    }
  } finally {
    lock.release();
  }
}

async function takeKeysLock({ keys_lock }: KeyPaths): Promise<Lock> {
  for (const until = Date.now() + LOCK_MS; Date.now() < until; await delay(LOOK_MS)) {
    const lock = await takeLock(keys_lock);
    if (lock !== undefined) return lock;
  }
  throw new SvcError("conflict", `another process is changing the keys (it holds ${keys_lock})`, {
    hint: "try again when it has finished",
  });
}
/**
 * Returns a typed or pasted key without surrounding whitespace.
 *
 * @throws {SvcError} validation if it is empty or does not fit into an HTTP header
 */
export function requireKey(text: string): string {
  const key = text.trim();
  const refuse = (found: string) => new SvcError("validation", `the key ${found}`);
  if (key === "") throw refuse("is empty");
  if (key.length > KEY_MAX) throw refuse(`is longer than ${KEY_MAX} characters`);
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw refuse("contains a blank or a character that a key cannot have; copy it again");
  }
  return key;
}
