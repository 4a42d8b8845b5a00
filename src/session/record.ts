/**
 * Journal lines (contract.md section 6): `{"v":1,"seq":n,"at":"RFC 3339 ms","kind":"<type>", …}`.
 * A field that uses a name of the envelope, like a lane's `kind`, is written as `data_<name>`.
 */
import type { SessionEvent } from "../protocol/events.ts";

const JOURNAL_VERSION = 1;
const ENVELOPE = ["v", "seq", "at", "kind"] as const;
/** Names of fields by their `data_` names in lines. */
const FROM_LINE = new Map<string, string>(ENVELOPE.map((name) => [`data_${name}`, name]));

/** A line that is not a record; the message says why. */
export class BadRecord extends Error {
  override name = "BadRecord";
}

/** Encodes an event as a line with its newline. @param data_json its data as JSON */
export function encodeRecord(event: SessionEvent, data_json: string): string {
  const data = event.data as unknown as Record<string, unknown>;
  let fields = data_json;
  if (ENVELOPE.some((name) => name in data)) {
    fields = JSON.stringify(Object.fromEntries(
      Object.entries(data).map((
        [name, value],
      ) => [ENVELOPE.includes(name as "v") ? `data_${name}` : name, value]),
    ));
  }
  const rest = fields === "{}" ? "}" : `,${fields.slice(1)}`;
  return `{"v":${JOURNAL_VERSION},"seq":${event.seq},"at":"${event.at}","kind":"${event.type}"${rest}\n`;
}

/** Decodes a line. @throws {BadRecord} when it is not JSON, not a record, or of a newer version */
export function decodeRecord(line: string): SessionEvent {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line);
  } catch {
    throw new BadRecord("is not valid JSON");
  }
  if (typeof record !== "object" || record === null) throw new BadRecord("is not a JSON object");
  const { v, seq, at, kind } = record;
  if (v !== JOURNAL_VERSION) {
    throw new BadRecord(
      `has schema version ${JSON.stringify(v)}, this svc reads ${JOURNAL_VERSION}`,
    );
  }
  if (!Number.isSafeInteger(seq) || typeof at !== "string" || typeof kind !== "string") {
    throw new BadRecord("has no seq, at or kind");
  }
  // Rest properties would take twice the time of everything else here.
  const data: Record<string, unknown> = {};
  for (const key in record) {
    if (key === "v" || key === "seq" || key === "at" || key === "kind") continue;
    data[key.startsWith("data_") ? FROM_LINE.get(key) ?? key : key] = record[key];
  }
  return { seq, at, type: kind, data } as unknown as SessionEvent;
}
