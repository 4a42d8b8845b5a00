/**
 * The bus's lines:
 * `{"v":1,"bus_seq":n,"at":"RFC 3339 ms","task_scope":"sess_…","seq":<the session's>,
 * "type":…,"data":{…}}`. Files of earlier builds name the scope `scope`.
 */

export const BUS_VERSION = 1;

/** Not on the bus: text as it is generated. The events that end a turn have all of it. */
export const LEFT_OUT: ReadonlySet<string> = new Set([
  "session.delta",
  "session.reasoning",
  "lane.delta",
]);

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
  return `{"v":${BUS_VERSION},"bus_seq":${seq},"at":"${at}","task_scope":"${scope}"${of_session},` +
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
  const { v, bus_seq, at, task_scope, seq, type, data } = record ?? {};
  const scope = task_scope ?? record?.scope;
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
