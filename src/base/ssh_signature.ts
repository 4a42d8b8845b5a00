/** Ed25519 signatures in OpenSSH's format (PROTOCOL.sshsig), which `ssh-keygen -Y` checks. */

/** A signature's key and purpose. */
interface SshSigned {
  /** The public key, 32 bytes. */
  key: Uint8Array<ArrayBuffer>;
  /** The purpose; a signature is not valid for another. */
  namespace: string;
}

const MAGIC = "SSHSIG";
const VERSION = 1;
const KIND = "ssh-ed25519";
const HASH = "sha512";

/** Returns a public key in OpenSSH's form, `ssh-ed25519 …`. @param raw 32 bytes */
export function sshKeyText(raw: Uint8Array<ArrayBuffer>): string {
  return `${KIND} ${keyBlob(raw).toBase64()}`;
}

/** Parses {@linkcode sshKeyText}'s form, maybe with a comment; undefined if invalid. */
export function parseSshKey(line: string): Uint8Array<ArrayBuffer> | undefined {
  const [kind, blob = ""] = line.trim().split(/\s+/);
  try {
    const key = keyIn(Uint8Array.fromBase64(blob));
    return kind === KIND ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a fingerprint as `ssh-keygen -l` shows it. @param raw 32 bytes */
export async function sshFingerprint(raw: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", keyBlob(raw)));
  return `SHA256:${hash.toBase64({ omitPadding: true })}`;
}

/**
 * Returns an armoured signature of bytes.
 *
 * @param sign returns an Ed25519 signature, 64 bytes, by the key of `signed`
 */
export async function signForSsh(
  bytes: Uint8Array<ArrayBuffer>,
  { key, namespace }: SshSigned,
  sign: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<string> {
  const signature = await sign(await signedBlob(bytes, namespace));
  const blob = joined([
    text(MAGIC),
    new Uint8Array([0, 0, 0, VERSION]),
    sshString(keyBlob(key)),
    ...common(namespace),
    sshString(joined([sshString(KIND), sshString(signature)])),
  ]);
  const lines = blob.toBase64().replaceAll(/.{70}/g, "$&\n").trimEnd();
  return `-----BEGIN SSH SIGNATURE-----\n${lines}\n-----END SSH SIGNATURE-----\n`;
}

/** Checks an armoured signature. @returns undefined when it is damaged or does not match */
export async function sshSignerOf(
  bytes: Uint8Array<ArrayBuffer>,
  armoured: string,
): Promise<SshSigned | undefined> {
  const body = /^-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)-----END SSH SIGNATURE-----\n*$/
    .exec(armoured)?.[1];
  if (body === undefined) return undefined;
  try {
    const reader = new Reader(Uint8Array.fromBase64(body.replaceAll("\n", "")));
    if (reader.take(MAGIC.length + 4).join() !== [...text(MAGIC), 0, 0, 0, VERSION].join()) {
      return undefined;
    }
    const key = keyIn(reader.string());
    const [namespace, , hash] = [1, 2, 3].map(() => new TextDecoder().decode(reader.string()));
    const inner = new Reader(reader.string());
    const kind = new TextDecoder().decode(inner.string());
    if (key === undefined || kind !== KIND || hash !== HASH) return undefined;
    const open = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    const blob = await signedBlob(bytes, namespace);
    const holds = await crypto.subtle.verify("Ed25519", open, inner.string(), blob);
    return holds ? { key, namespace } : undefined;
  } catch {
    return undefined;
  }
}

function common(namespace: string): Uint8Array<ArrayBuffer>[] {
  return [sshString(namespace), sshString(""), sshString(HASH)];
}

/** The bytes that Ed25519 signs. */
async function signedBlob(
  bytes: Uint8Array<ArrayBuffer>,
  namespace: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", bytes));
  return joined([text(MAGIC), ...common(namespace), sshString(digest)]);
}

function keyBlob(raw: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return joined([sshString(KIND), sshString(raw)]);
}

/** The key in a blob; undefined for another kind. @throws {RangeError} when it is cut */
function keyIn(blob: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  const reader = new Reader(blob);
  const kind = new TextDecoder().decode(reader.string());
  const key = reader.string();
  return kind === KIND && key.length === 32 ? key : undefined;
}

/** Reads strings of RFC 4251. */
class Reader {
  #bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  /** @throws {RangeError} when there are fewer bytes */
  take(length: number): Uint8Array<ArrayBuffer> {
    if (length > this.#bytes.length) throw new RangeError("the bytes end early");
    const taken = this.#bytes.slice(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  string(): Uint8Array<ArrayBuffer> {
    return this.take(new DataView(this.take(4).buffer).getUint32(0));
  }
}

/** Encodes a string of RFC 4251: four bytes of length, then its bytes. */
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
