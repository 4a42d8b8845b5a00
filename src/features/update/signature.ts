/** Ed25519 signatures of releases (RFC 8032). */
import { SvcError } from "../../protocol/errors.ts";

export interface PublicKey {
  /** The first 16 hex digits of the SHA-256 of the SubjectPublicKeyInfo. */
  id: string;
  key: CryptoKey;
}

/**
 * Parses a public key.
 * @param text SubjectPublicKeyInfo (RFC 8410) in base64: the middle line of a PEM file
 * @throws {SvcError} validation unless it is an Ed25519 key
 */
export async function parsePublicKey(text: string): Promise<PublicKey> {
  try {
    const spki = Uint8Array.fromBase64(text.trim());
    const key = await crypto.subtle.importKey("spki", spki, "Ed25519", true, ["verify"]);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", spki));
    return { id: hash.toHex().slice(0, 16), key };
  } catch (error) {
    throw new SvcError("validation", `"${text}" is not an Ed25519 public key`, {
      hint:
        "it takes the line between BEGIN and END of a PEM file, as `openssl pkey -pubout` writes it",
      cause: error,
    });
  }
}

/** Returns the key that signed the bytes, if it is one of these. */
export async function signerOf(
  bytes: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  keys: readonly PublicKey[],
): Promise<PublicKey | undefined> {
  for (const it of keys) {
    if (await crypto.subtle.verify("Ed25519", it.key, signature, bytes)) return it;
  }
  return undefined;
}
