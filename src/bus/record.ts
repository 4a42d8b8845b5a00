/**
 * The bus's lines:
 * `{"v":1,"bus_seq":n,"at":"RFC 3339 ms","scope":"sess_…","seq":<the session's>,"type":…,"data":{…}}`.
 */

export const BUS_VERSION = 1;

/** The scope of what the daemon itself reports; such records have no seq of a session. */
export const DAEMON_SCOPE = "daemon";

/** What is told to the bus. */
export interface BusEntry {
  /** Of the session, where the entry is one of its events. */
  readonly seq?: number;
  readonly at: string;
  readonly type: string;
  readonly data_json: string;
}

/** What the bus has of an event. */
export interface BusRecord {
  /** Its place on the bus, `bus_seq` outside of this folder. */
  readonly seq: number;
  /** A session's id, or {@linkcode DAEMON_SCOPE}. */
  readonly scope: string;
  readonly session_seq?: number;
  readonly at: string;
  readonly type: string;
  readonly data_json: string;
}

/** The line of a record, newline included. */
export function encodeBusRecord(record: BusRecord): string {
  const { seq, scope, session_seq, at, type, data_json } = record;
  const of_session = session_seq === undefined ? "" : `,"seq":${session_seq}`;
  return `{"v":${BUS_VERSION},"bus_seq":${seq},"at":"${at}","scope":"${scope}"${of_session},` +
    `"type":"${type}","data":${data_json}}\n`;
}

/** Reads a line back. @returns undefined when it is not a record that this version reads. */
export function decodeBusRecord(line: string): BusRecord | undefined {
  let record: Record<string, unknown> | null;
  try {
    record = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { v, bus_seq, at, scope, seq, type, data } = record ?? {};
  const good = v === BUS_VERSION && Number.isSafeInteger(bus_seq) && typeof at === "string" &&
    typeof scope === "string" && typeof type === "string" && typeof data === "object" &&
    (seq === undefined || Number.isSafeInteger(seq));
  if (!good) return undefined;
  return {
    seq: bus_seq as number,
    scope,
    session_seq: seq as number | undefined,
    at,
    type,
    data_json: JSON.stringify(data),
  };
}
