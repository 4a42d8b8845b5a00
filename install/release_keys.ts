/** The key that signs releases: Ed25519 (RFC 8032), stored as PKCS #8 in PEM (RFC 8410). */

/**
 * Generates a key. @returns the private key in PEM, and the public key in the form for `svc
 * update`.
 */
import { parsePublicKey } from "../src/features/update/signature.ts";
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
    ssh_key: `ssh-ed25519 ${sshPublicKey(raw).toBase64()}`,
    sign: async (bytes) => new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes)),
  };
}

async function publicKeyOf(key: CryptoKey): Promise<string> {
  return new Uint8Array(await crypto.subtle.exportKey("spki", key)).toBase64();
}

/** The namespace for `ssh-keygen -Y verify -n`. */
export const SSH_NAMESPACE = "svc-release";

/**
 * Signs for OpenSSH (PROTOCOL.sshsig), because some systems have `ssh-keygen` but an openssl
 * without Ed25519.
 *
 * @returns the armoured signature
 */
export async function signForSsh(signer: Signer, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", bytes));
  const common = [sshString(SSH_NAMESPACE), sshString(""), sshString("sha512")];
  const signature = await signer.sign(joined([text("SSHSIG"), ...common, sshString(digest)]));
  const public_key = Uint8Array.fromBase64(signer.ssh_key.split(" ")[1]);
  const blob = joined([
    text("SSHSIG"),
    new Uint8Array([0, 0, 0, 1]),
    sshString(public_key),
    ...common,
    sshString(joined([sshString("ssh-ed25519"), sshString(signature)])),
  ]);
  const lines = blob.toBase64().replaceAll(/.{70}/g, "$&\n").trimEnd();
  return `-----BEGIN SSH SIGNATURE-----\n${lines}\n-----END SSH SIGNATURE-----\n`;
}

function sshPublicKey(raw: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return joined([sshString("ssh-ed25519"), sshString(raw)]);
}

/** Encodes a string of RFC 4251: its length in four bytes, then its bytes. */
function sshString(value: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const bytes = typeof value === "string" ? text(value) : value;
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length);
  return joined([length, bytes]);
}

function text(value: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(value);
}

function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
