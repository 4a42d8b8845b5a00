/** This machine's key for exported ledgers: Ed25519, PKCS #8 in PEM, readable by its owner only. */
import { checkPrivate, syncDir } from "../os/files.ts";
import { writeAllSync } from "../base/write_all.ts";
import { SvcError } from "../protocol/errors.ts";
import { dirname } from "@std/path";

export interface LedgerKey {
  /** 32 bytes. */
  public_key: Uint8Array<ArrayBuffer>;
  /** Returns an Ed25519 signature, 64 bytes. */
  sign(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Reads the key; creates it at the first use.
 *
 * @throws {SvcError} permission_denied when others can read or change the file; internal when it
 * cannot be read or made, or is damaged
 */
export async function ledgerKey(path: string): Promise<LedgerKey> {
  if (!checkPrivate(path, 0o600, "file")) await make(path);
  try {
    const pem = await Deno.readTextFile(path);
    const der = Uint8Array.fromBase64(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ""));
    const key = await crypto.subtle.importKey("pkcs8", der, "Ed25519", true, ["sign"]);
    const { x } = await crypto.subtle.exportKey("jwk", key);
    return {
      public_key: Uint8Array.fromBase64(x!, { alphabet: "base64url" }),
      sign: async (bytes) => new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes)),
    };
  } catch (cause) {
    throw new SvcError("internal", `cannot use the key ${path}: it is not an Ed25519 key in PEM`, {
      hint: "restore it from a backup, or move it away; svc then makes a new one",
      cause,
    });
  }
}

async function make(path: string): Promise<void> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const der = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  const pem = `-----BEGIN PRIVATE KEY-----\n${der.toBase64()}\n-----END PRIVATE KEY-----\n`;
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    using file = Deno.openSync(temporary, { createNew: true, write: true, mode: 0o600 });
    writeAllSync(file, new TextEncoder().encode(pem));
    file.syncDataSync();
    // A link, not a rename: of two keys made at once, the first one stays.
    Deno.linkSync(temporary, path);
    syncDir(dirname(path));
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AlreadyExists)) {
      throw new SvcError("internal", `cannot make the key ${path}`, { cause });
    }
  } finally {
    Deno.removeSync(temporary);
  }
}
