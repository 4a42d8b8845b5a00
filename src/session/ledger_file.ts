/**
 * A ledger file: JSON lines with a signed statement about a journal, its signature, and the records
 * as in the journal. The statement names the last record's hash, so its signature covers them all.
 */
import {
  parseSshKey,
  signForSsh,
  sshFingerprint,
  sshKeyText,
  sshSignerOf,
} from "../base/ssh_signature.ts";
import { messageOf } from "../protocol/errors.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { VERSION } from "../protocol/version.ts";
import type { Journal } from "./journal.ts";
import { BEGINNING, chain, hasher } from "./ledger.ts";
import type { LedgerKey } from "./ledger_key.ts";
import { BadRecord, decodeRecord } from "./record.ts";

const FORMAT = "svc-ledger/1";
/** For `ssh-keygen -Y verify -n`. */
const LEDGER_NAMESPACE = "svc-ledger";

interface Statement {
  format: typeof FORMAT;
  session_id: string;
  exported_at: string;
  svc: string;
  records: number;
  first_seq: number;
  last_seq: number;
  /** Hash of the last record, hexadecimal. */
  head: string;
  /** Of the machine, in OpenSSH format. */
  public_key: string;
}

/** Returns the statement about a journal and its signature, as two lines. */
export async function signedStatement(
  session_id: string,
  journal: Journal,
  { public_key, sign }: LedgerKey,
): Promise<{ lines: string[]; last_seq: number }> {
  const { last_seq } = journal;
  let [records, first_seq, head] = [0, 0, BEGINNING.hash];
  for await (const { event, hash } of chain(journal)) {
    if (event.seq > last_seq) break;
    if (records++ === 0) first_seq = event.seq;
    head = hash;
  }
  const statement: Statement = {
    format: FORMAT,
    session_id,
    exported_at: new Date().toISOString(),
    svc: VERSION,
    records,
    first_seq,
    last_seq,
    head,
    public_key: sshKeyText(public_key),
  };
  const line = JSON.stringify(statement);
  const bytes = new TextEncoder().encode(line);
  const signed = { key: public_key, namespace: LEDGER_NAMESPACE };
  const signature = await signForSsh(bytes, signed, sign);
  return { lines: [line, JSON.stringify({ signature })], last_seq };
}

export interface LedgerCheck {
  statement: Statement;
  /** Of the signing key, as `ssh-keygen -l` shows it. */
  fingerprint: string;
  /** Whether a checkpoint replaces the older records. */
  shortened: boolean;
}

/** A ledger file that proves nothing; the message says why. */
export class BadLedger extends Error {
  override name = "BadLedger";
}

/**
 * Checks a ledger file: the signature, the chain of records, and that none is missing.
 *
 * @param lines without line ends
 * @param key the public key that must have signed it, as `svc ledger key` prints it
 * @throws {BadLedger}
 */
export async function checkLedger(
  lines: AsyncIterable<string>,
  key?: string,
): Promise<LedgerCheck> {
  const iterator = lines[Symbol.asyncIterator]();
  const next = async () => {
    const { done, value } = await iterator.next();
    return done ? undefined : value;
  };
  const first = await next() ?? "";
  const statement = parseStatement(first);
  const fingerprint = await checkSignature(first, await next() ?? "", statement, key);
  const hashOf = await hasher();
  let head = BEGINNING;
  let [records, first_seq, shortened] = [0, 0, false];
  for (let line = await next(); line !== undefined; line = await next()) {
    const event = parseRecord(line, records + 1);
    if (records === 0) {
      first_seq = event.seq;
      shortened = event.type === "session.checkpoint";
    } else if (event.type === "session.checkpoint" || event.seq !== head.seq + 1) {
      throw new BadLedger(`record ${records + 1} does not follow the one before it`);
    }
    head = hashOf(head, event, line);
    records++;
  }
  const found = { records, first_seq, last_seq: head.seq, head: head.hash };
  for (const name of ["records", "first_seq", "last_seq", "head"] as const) {
    if (found[name] === statement[name]) continue;
    throw new BadLedger(
      name === "head"
        ? "the records were changed: their hash is not the one in the signed statement"
        : `${name} is ${found[name]}, but ${statement[name]} in the signed statement`,
    );
  }
  return { statement, fingerprint, shortened };
}

function parseStatement(line: string): Statement {
  let statement: Partial<Statement> | undefined;
  try {
    statement = JSON.parse(line);
  } catch {
    // Refused below.
  }
  if (statement?.format !== FORMAT) {
    throw new BadLedger(`this is no ledger: its first line has no "format":"${FORMAT}"`);
  }
  return statement as Statement;
}

async function checkSignature(
  first: string,
  second: string,
  { public_key }: Statement,
  wanted: string | undefined,
): Promise<string> {
  let signature = "";
  try {
    ({ signature } = JSON.parse(second));
  } catch {
    // Refused below.
  }
  const signer = await sshSignerOf(new TextEncoder().encode(first), String(signature));
  if (signer?.namespace !== LEDGER_NAMESPACE || sshKeyText(signer.key) !== public_key) {
    throw new BadLedger("the signature does not match the statement");
  }
  const fingerprint = await sshFingerprint(signer.key);
  if (wanted === undefined) return fingerprint;
  const key = parseSshKey(wanted);
  if (key === undefined) throw new BadLedger("the key to check against is no ssh-ed25519 key");
  if (sshKeyText(key) === public_key) return fingerprint;
  throw new BadLedger(`it was signed by another key, ${fingerprint}`);
}

function parseRecord(line: string, number: number): SessionEvent {
  try {
    return decodeRecord(line);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    throw new BadLedger(`record ${number} ${messageOf(error)}`);
  }
}
