/** The signature of an exported session, which `ssh-keygen -Y verify` checks. */
import {
  parseSshKey,
  signForSsh,
  sshFingerprint,
  sshKeyText,
  sshSignerOf,
} from "../../base/ssh_signature.ts";
import { exists } from "../../os/files.ts";
import { SvcError } from "../../protocol/errors.ts";
import { VERSION } from "../../protocol/version.ts";
import { type LedgerKey, ledgerKey } from "../../session/ledger_key.ts";
import { type Header, SIGNED } from "./file.ts";
import type { ImportParams } from "./schemas.ts";

const STATEMENT_FORMAT = "svc-session-statement/1";
/** For `ssh-keygen -Y verify -n`. */
export const SESSION_NAMESPACE = "svc-session";

/** What is true of a file. */
export interface Facts extends Pick<Header, "session_id" | "exported_at" | "last_seq" | "head"> {
  records: number;
  attachments: number;
  /** Of all bytes before the last line, in hexadecimal. */
  sha256: string;
}

/** Returns the last line of a file, which states and signs its facts. */
export async function signedLine(facts: Facts, { public_key, sign }: LedgerKey): Promise<string> {
  const statement = JSON.stringify({
    format: STATEMENT_FORMAT,
    ...facts,
    svc: VERSION,
    public_key: sshKeyText(public_key),
  });
  const signed = { key: public_key, namespace: SESSION_NAMESPACE };
  const signature = await signForSsh(new TextEncoder().encode(statement), signed, sign);
  return lineOf(statement, signature);
}

function lineOf(statement: string, signature: string): string {
  return `${SIGNED}${JSON.stringify({ statement, signature })}}`;
}

/**
 * Checks the last line of a file against its facts.
 *
 * @returns the key that signed it, 32 bytes; what is wrong as a text
 */
export async function signerOf(
  line: string,
  facts: Facts,
): Promise<Uint8Array<ArrayBuffer> | string> {
  let stated: Record<string, unknown>;
  let signed: { statement?: unknown; signature?: unknown };
  try {
    signed = JSON.parse(line.slice(SIGNED.length, -1));
    stated = JSON.parse(String(signed.statement));
  } catch {
    return "its last line has no signature";
  }
  const { statement, signature } = signed;
  // One signature, and nothing beside it: another program could read another one.
  if (lineOf(String(statement), String(signature)) !== line) {
    return "its last line is not as svc writes it";
  }
  const signer = await sshSignerOf(new TextEncoder().encode(String(statement)), String(signature));
  if (signer?.namespace !== SESSION_NAMESPACE || sshKeyText(signer.key) !== stated.public_key) {
    return "its signature does not match";
  }
  if (stated.format !== STATEMENT_FORMAT) return "its signature is of a newer release";
  for (const name of Object.keys(facts) as (keyof Facts)[]) {
    if (stated[name] !== facts[name]) {
      return `the file was changed: its ${name} is not the one that was signed`;
    }
  }
  return signer.key;
}

/** Who signed an imported file, and why it was accepted. */
export interface Signer {
  fingerprint: string;
  known: "this_machine" | "trusted" | "confirmed";
}

/**
 * Decides whether a file may be imported.
 *
 * @param key of the signature, if there is one
 * @param own_key path of this machine's key
 * @param by_model whether a model imports it, whose word on keys does not count
 * @returns undefined for an unsigned file that the person wants
 * @throws {SvcError} permission_denied with `signer` in its details if the person must confirm it;
 * validation for an unreadable trusted key
 */
export async function requireKnown(
  key: Uint8Array<ArrayBuffer> | undefined,
  own_key: string,
  { path, trusted_keys = [], signer }: Pick<ImportParams, "path" | "trusted_keys" | "signer">,
  by_model: boolean,
): Promise<Signer | undefined> {
  if (by_model && (signer !== undefined || trusted_keys.length > 0)) {
    throw new SvcError("permission_denied", "only a person says which keys can be trusted", {
      hint: "the person can run `svc ctl sessions import`",
    });
  }
  if (key === undefined) {
    if (signer === "none") return undefined;
    throw unknown(path, "is not signed", "none");
  }
  const text = sshKeyText(key);
  const fingerprint = await sshFingerprint(key);
  if (exists(own_key) && sshKeyText((await ledgerKey(own_key)).public_key) === text) {
    return { fingerprint, known: "this_machine" };
  }
  if (trusted_keys.map(readKey).includes(text)) return { fingerprint, known: "trusted" };
  if (signer === fingerprint) return { fingerprint, known: "confirmed" };
  throw unknown(path, `was signed by a key that is not known here, ${fingerprint}`, fingerprint);
}

/** @throws {SvcError} validation */
function readKey(text: string): string {
  const key = parseSshKey(text);
  if (key !== undefined) return sshKeyText(key);
  throw new SvcError("validation", `not an ssh-ed25519 key: ${JSON.stringify(text)}`, {
    hint: "pass the line that `svc ledger key` prints on the other machine",
  });
}

function unknown(path: string, problem: string, signer: string): SvcError {
  return new SvcError("permission_denied", `${path} ${problem}`, {
    hint: signer === "none"
      ? "files of earlier releases have no signature; import it only if you know who wrote it"
      : "compare it with `svc ledger key --json` of the other machine, or pass that key",
    details: { signer },
  });
}
