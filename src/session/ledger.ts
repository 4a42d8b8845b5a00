/**
 * The ledger: a journal as a hash chain (contract.md section 4). A record's hash is the SHA-256 of
 * the previous hash and its line. A checkpoint carries the hash of the last record it replaces, so
 * later hashes stay the same.
 */
import type * as z from "zod";
import type { ledgerCheckSchema } from "../protocol/schemas/ledger.ts";
import { atomicWrite, readTextIfAny } from "../os/files.ts";
import type { SessionEvent } from "../protocol/events.ts";
import type { Journal } from "./journal.ts";
import { BadRecord } from "./record.ts";

interface Edge {
  to: string;
  /** `prev`: the record before; `cause`: what it answers or belongs to. */
  kind: "prev" | "cause";
}

interface LedgerNode {
  hash: string;
  event: SessionEvent;
  edges: Edge[];
}

/** The head of a chain at some time, kept apart from the journal. */
export interface Anchor {
  seq: number;
  hash: string;
  /** Hash of the same records without their times. */
  timeless?: string;
}

const GENESIS = "0".repeat(64);
/** Where every chain starts. */
export const BEGINNING: Anchor = { seq: 0, hash: GENESIS, timeless: GENESIS };
/** A record's time, in its line. */
const TIME = /"at":"[^"]*"/;

/** Returns a function that hashes consecutive records. */
export async function hasher(): Promise<
  (before: Anchor, event: SessionEvent, line: string) => Anchor
> {
  // Loaded lazily: a daemon's start does not need it.
  const { createHash } = await import("node:crypto");
  const add = (hash: string, text: string) =>
    createHash("sha256").update(hash + text).digest("hex");
  return ({ hash, timeless }, { type, seq, data }, line) =>
    type === "session.checkpoint"
      ? { seq, hash: data.chain, timeless: data.chain }
      : { seq, hash: add(hash, line), timeless: timeless && add(timeless, line.replace(TIME, "")) };
}

/** Yields records and their hashes, oldest first, after an anchor if given. */
export async function* chain(
  journal: Journal,
  from?: Anchor,
): AsyncGenerator<Anchor & { event: SessionEvent }> {
  const hashOf = await hasher();
  let head = from ?? BEGINNING;
  for await (const { event, line } of journal.records(head.seq)) {
    head = hashOf(head, event, line);
    yield { ...head, event };
  }
}

/** Yields the nodes of a journal, oldest first. */
export async function* ledger(journal: Journal): AsyncGenerator<LedgerNode> {
  let prev: string | undefined;
  const causes = new Map<string, string>();
  for await (const { hash, event } of chain(journal)) {
    const edges: Edge[] = prev === undefined ? [] : [{ to: prev, kind: "prev" }];
    const cause = causes.get(causeKey(event) ?? "");
    if (cause !== undefined) edges.push({ to: cause, kind: "cause" });
    remember(event, hash, causes);
    prev = hash;
    yield { hash, event, edges };
  }
}

/** Key of the record that an event answers or belongs to. */
function causeKey({ type, data }: SessionEvent): string | undefined {
  switch (type) {
    case "session.tool_completed":
    case "approval.requested":
      return data.call_id;
    case "approval.resolved":
      return data.approval_id;
    case "session.delta":
    case "session.reasoning":
    case "turn.completed":
    case "turn.continued":
    case "turn.parked":
      return data.turn_id;
    case "lane.status":
    case "lane.delta":
    case "lane.cost":
    case "lane.note":
    case "lane.killed":
      return data.lane_id;
    case "turn.started":
      return "user.message";
    case "session.tool_started":
      return "turn.started";
  }
}

function remember({ type, data }: SessionEvent, hash: string, causes: Map<string, string>): void {
  switch (type) {
    case "user.message":
      causes.set("user.message", hash);
      break;
    case "turn.started":
      causes.set("turn.started", hash);
      causes.set(data.turn_id, hash);
      break;
    case "session.tool_started":
      causes.set(data.call_id, hash);
      break;
    case "approval.requested":
      causes.set(data.approval_id, hash);
      break;
    case "lane.created":
      causes.set(data.lane_id, hash);
      break;
  }
}

type Verification = z.output<ReturnType<typeof ledgerCheckSchema>>;

/** Recomputes a chain and compares it with the anchor. */
export async function verifyLedger(
  journal: Journal,
  anchor: Anchor | undefined,
): Promise<Verification> {
  let records = 0;
  let head = GENESIS;
  let problem: string | undefined;
  try {
    for await (const { hash, event } of chain(journal)) {
      records++;
      head = hash;
      if (anchor?.seq === event.seq && anchor.hash !== hash) {
        problem = `the records up to seq ${anchor.seq} do not match the anchor`;
      }
    }
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    problem = `the record after number ${records} ${error.message}`;
  }
  if (anchor !== undefined && anchor.seq > journal.last_seq) {
    problem = `the journal ends at seq ${journal.last_seq}, but its anchor is at seq ${anchor.seq}`;
  }
  return { records, head, anchored_seq: anchor?.seq ?? 0, problem };
}

/** Reads an anchor; undefined when it is missing or invalid: the next one replaces it. */
export async function readAnchor(path: string): Promise<Anchor | undefined> {
  const text = await readTextIfAny(path);
  if (text === undefined) return undefined;
  try {
    const { seq, hash, timeless } = JSON.parse(text);
    return Number.isSafeInteger(seq) && /^[0-9a-f]{64}$/.test(hash)
      ? { seq, hash, timeless }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Writes an anchor. A power cut may leave the previous one, or none. */
export async function saveAnchor(path: string, anchor: Anchor): Promise<void> {
  await atomicWrite(path, JSON.stringify(anchor), 0o600, { durable: false });
}

/** Anchors the head of a chain, computed from the anchor before. @returns the latest anchor */
export async function writeAnchor(
  path: string,
  journal: Journal,
  before: Anchor | undefined,
): Promise<Anchor | undefined> {
  const usable = before !== undefined && before.seq >= journal.trimmed_seq &&
    before.seq <= journal.last_seq;
  let anchor = usable ? before : undefined;
  if (anchor !== undefined && anchor.seq === journal.last_seq) return anchor;
  for await (const { event: _, ...head } of chain(journal, anchor)) anchor = head;
  if (anchor !== undefined) await saveAnchor(path, anchor);
  return anchor;
}
