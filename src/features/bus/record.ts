/**
 * Lines of the bus:
 * `{"v":1,"bus_seq":n,"at":"RFC 3339 ms","task_scope":"sess_…","seq":<the session's>,
 * "type":…,"data":{…}}`.
 * Files of earlier builds name the scope `scope`.
 */

export const BUS_VERSION = 1;

/** Text while it is generated is not on the bus; the events that end a turn contain it. */
export const LEFT_OUT: ReadonlySet<string> = new Set([
  "session.delta",
  "session.reasoning",
  "lane.delta",
]);

/** The scope of the daemon's own records, which have no session's seq. */
export const DAEMON_SCOPE = "daemon";

export interface BusEntry {
  /** The session's, for its events. */
  readonly seq?: number;
  readonly at: string;
  readonly type: string;
  readonly data_json: string;
}

export interface BusRecord {
  /** The position on the bus, `bus_seq` outside of this folder. */
  readonly seq: number;
  /** A session id or {@linkcode DAEMON_SCOPE}. */
  readonly scope: string;
  readonly session_seq?: number;
  readonly at: string;
  readonly type: string;
  readonly data_json: string;
}

/** Returns a line with its newline. */
export function encodeBusRecord(record: BusRecord): string {
  const { seq, scope, session_seq, at, type, data_json } = record;
  const of_session = session_seq === undefined ? "" : `,"seq":${session_seq}`;
  return `{"v":${BUS_VERSION},"bus_seq":${seq},"at":"${at}","task_scope":"${scope}"${of_session},` +
    `"type":"${type}","data":${data_json}}\n`;
}

/** Parses a line; undefined if this version cannot read it. */
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
