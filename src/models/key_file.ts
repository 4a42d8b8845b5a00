/** The API keys that `svc login` saved, in a private file of the home. */

import { checkPrivate } from "../os/files.ts";
import { SvcError } from "../protocol/errors.ts";

/** A saved key. It is sent only to the address that it was given for. */
export interface SavedKey {
  api_key: string;
  /** The provider's base URL at the time of the login. */
  base_url: string;
}

export type Keys = Readonly<Record<string, SavedKey>>;

/** Reads the saved keys. A running daemon sees changes without a restart. */
export class KeyFile {
  readonly #path: string;
  #read: { stamp: string; keys: Keys } | undefined;

  /** @param path of the file, which may not exist */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Returns a provider's key.
   *
   * @throws {SvcError} permission_denied if others could read or change the file; validation if it
   * is damaged
   */
  get(provider: string): SavedKey | undefined {
    const keys = this.all();
    return Object.hasOwn(keys, provider) ? keys[provider] : undefined;
  }

  /** Returns all keys by provider. @throws {SvcError} like {@linkcode get} */
  all(): Keys {
    const path = this.#path;
    // Checked at every read: a file that others can read must no longer be used.
    if (!checkPrivate(path, 0o600, "file")) return {};
    const { ino, size, mtime, ctime } = Deno.lstatSync(path);
    const stamp = [ino, size, mtime?.getTime(), ctime?.getTime()].join();
    if (this.#read?.stamp !== stamp) {
      this.#read = { stamp, keys: parse(Deno.readTextFileSync(path), path) };
    }
    return this.#read.keys;
  }
}

function parse(text: string, path: string): Keys {
  let table: unknown;
  try {
    table = JSON.parse(text);
  } catch {
    // Reported below: the parser's error would quote the text.
  }
  const isKey = (value: unknown): value is SavedKey => {
    const { api_key, base_url } = (value ?? {}) as Partial<SavedKey>;
    return typeof api_key === "string" && typeof base_url === "string";
  };
  if (typeof table === "object" && table !== null && Object.values(table).every(isKey)) {
    return table as Keys;
  }
  throw new SvcError("validation", `${path} is damaged`, {
    hint: `remove it, then log in again with \`svc login\`: rm ${path}`,
  });
}
