/** The key that signs releases: Ed25519 (RFC 8032), stored as PKCS #8 in PEM (RFC 8410). */

/**
 * Generates a key. @returns the private key in PEM, and the public key in the form for `svc
 * update`.
 */
import * as ssh from "../src/base/ssh_signature.ts";
import { parsePublicKey } from "../src/features/update/signature.ts";

const { parseSshKey, sshKeyText } = ssh;

export async function newKey(): Promise<{ private_pem: string; public_key: string }> {
  const generated = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const pair = generated as CryptoKeyPair;
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  const body = pkcs8.toBase64();
  return {
    private_pem: `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`,
    public_key: await publicKeyOf(pair.publicKey),
  };
}

/** Signs releases. */
export interface Signer {
  /** SubjectPublicKeyInfo in base64: the middle line of a PEM file. */
  public_key: string;
  /** The first 16 hex digits of the SHA-256 of that SubjectPublicKeyInfo. */
  key_id: string;
  /** The public key in OpenSSH's form, `ssh-ed25519 …`. */
  ssh_key: string;
  /** @returns the signature of these bytes, 64 bytes long */
  sign(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Reads a private key.
 *
 * @throws {Error} when it is not an Ed25519 key in PKCS #8
 */
export async function readSigner(pem: string): Promise<Signer> {
  const pkcs8 = Uint8Array.fromBase64(
    pem.replaceAll(/-----[A-Z ]+-----/g, "").replaceAll(/\s/g, ""),
  );
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", true, ["sign"]);
  const { x } = await crypto.subtle.exportKey("jwk", key);
  const raw = Uint8Array.fromBase64(x!, { alphabet: "base64url" });
  const open = await crypto.subtle.importKey("raw", raw, "Ed25519", true, ["verify"]);
  const public_key = await publicKeyOf(open);
  return {
    public_key,
    key_id: (await parsePublicKey(public_key)).id,
    ssh_key: sshKeyText(raw),
    sign: async (bytes) => new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes)),
  };
}

async function publicKeyOf(key: CryptoKey): Promise<string> {
  return new Uint8Array(await crypto.subtle.exportKey("spki", key)).toBase64();
}

/** The namespace for `ssh-keygen -Y verify -n`. */
export const SSH_NAMESPACE = "svc-release";

/**
 * Signs for OpenSSH, because some systems have `ssh-keygen` but an openssl without Ed25519.
 *
 * @returns the armoured signature
 */
export async function signForSsh(signer: Signer, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const key = parseSshKey(signer.ssh_key)!;
  return await ssh.signForSsh(bytes, { key, namespace: SSH_NAMESPACE }, signer.sign);
}
