/**
 * How a page of the app and a daemon that was started again prove to each other that they belong
 * together, before the page gets the new token: each sends a MAC of two fresh nonces. Both sides use
 * this module.
 */

/** Who proves; so that no proof can be sent back to the one who made it. */
export type Prover = "daemon" | "page";

/** What is proven, all of it in the MAC. */
export interface Challenge {
  /** The page's id; not secret. */
  page: string;
  page_nonce: string;
  daemon_nonce: string;
  /** Where the page found the daemon: a proof for another port is worth nothing. */
  port: number;
}

const ALGORITHM = { name: "HMAC", hash: "SHA-256" };
const NONCE_BYTES = 32;
/** Base64 of as many bytes. */
const NONCE = /^[A-Za-z0-9+/]{43}=$/;

/** Returns 32 random bytes as text. */
export function randomText(): string {
  return textOf(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
}

/** Reports whether something is a text of {@linkcode randomText}, or a MAC. */
export function isRandomText(value: unknown): value is string {
  return typeof value === "string" && NONCE.test(value);
}

/** @param text of {@linkcode randomText} or {@linkcode pageKey} */
export function importKey(text: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytesOf(text), ALGORITHM, false, ["sign", "verify"]);
}

/** Returns the key of one page, made from the home's. */
export function pageKey(home_key: CryptoKey, page: string): Promise<string> {
  return mac(home_key, `svc key\n${page}`);
}

export function prove(key: CryptoKey, prover: Prover, challenge: Challenge): Promise<string> {
  return mac(key, claimOf(prover, challenge));
}

/** Checks a proof in constant time. Anything but a valid proof is refused. */
export async function isProven(
  key: CryptoKey,
  prover: Prover,
  challenge: Challenge,
  proof: unknown,
): Promise<boolean> {
  if (!isRandomText(proof) || !isRandomText(challenge.daemon_nonce)) return false;
  const claim = new TextEncoder().encode(claimOf(prover, challenge));
  return await crypto.subtle.verify(ALGORITHM.name, key, bytesOf(proof), claim);
}

/** No part contains a line break. */
function claimOf(prover: Prover, challenge: Challenge): string {
  const { page, page_nonce, daemon_nonce, port } = challenge;
  return ["svc", prover, page, page_nonce, daemon_nonce, port].join("\n");
}

async function mac(key: CryptoKey, text: string): Promise<string> {
  const made = await crypto.subtle.sign(ALGORITHM.name, key, new TextEncoder().encode(text));
  return textOf(new Uint8Array(made));
}

// Not toBase64: browsers of last year lack it.
function textOf(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
