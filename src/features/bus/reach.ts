/** Tracks how much of each session's journal is on the bus. */
import { readTextIfAny } from "../../os/files.ts";
import type { BusRecord } from "./record.ts";
import { positionsPath, type Segments, type SegmentsEnd } from "./segments.ts";

/** The content of the positions file. */
export interface Positions {
  v: 1;
  /** The last record at the time. */
  bus_seq: number;
  /** Its segment, and the segment's size; missing in files of earlier builds. */
  first?: number;
  size?: number;
  /** The seq of each session's last event. */
  sessions: Record<string, number>;
}

export class Reach {
  readonly #sessions: Map<string, number>;
  /** By session, the last seq that this process copied from a journal. */
  readonly #from_journal = new Map<string, number>();
  /** Earlier events of a session that is not on the bus count as trimmed. */
  readonly #since_at: string;
  /** Sessions whose events may be missing. */
  #lacking: "all" | Set<string>;
  #moved = false;

  private constructor(sessions: Map<string, number>, complete: boolean, since_at: string) {
    this.#sessions = sessions;
    this.#since_at = since_at;
    this.#lacking = complete ? new Set() : "all";
  }

  /** Reads the positions and the newer records. */
  static async of(segments: Segments, positions: Positions | undefined): Promise<Reach> {
    const { last_seq, oldest_seq } = segments;
    const known = positions !== undefined && positions.bus_seq <= last_seq ? positions : undefined;
    const sessions = new Map(Object.entries(known?.sessions ?? {}));
    if (known?.bus_seq === last_seq) return new Reach(sessions, true, "");
    let oldest_at: string | undefined;
    for await (const record of segments.read(Math.max(known?.bus_seq ?? 0, oldest_seq - 1))) {
      oldest_at ??= record.at;
      if (record.session_seq !== undefined) sessions.set(record.scope, record.session_seq);
    }
    const trimmed = known === undefined && oldest_seq > 1;
    return new Reach(sessions, false, trimmed ? oldest_at ?? "" : "");
  }

  /** Whether this process received events of sessions. */
  get moved(): boolean {
    return this.#moved;
  }

  /** Whether events may be missing. */
  get incomplete(): boolean {
    return this.#lacking === "all" || this.#lacking.size > 0;
  }

  lacks(scope: string): boolean {
    return this.#lacking === "all" || this.#lacking.has(scope);
  }

  missed(scope: string): void {
    if (this.#lacking !== "all") this.#lacking.add(scope);
  }

  /** Returns where to continue in a session's journal. */
  after(scope: string): [since_seq: number, since_at: string] {
    const seq = this.#sessions.get(scope);
    return seq === undefined ? [0, this.#since_at] : [seq, ""];
  }

  /** Reports whether an event was already copied from the journal. */
  cameFromJournal(scope: string, seq: number): boolean {
    return seq <= (this.#from_journal.get(scope) ?? 0);
  }

  appended(records: readonly BusRecord[], from_journal: boolean): void {
    for (const { scope, session_seq } of records) {
      if (session_seq === undefined) continue;
      this.#moved = true;
      this.#sessions.set(scope, session_seq);
      if (from_journal) this.#from_journal.set(scope, session_seq);
    }
  }

  completed(): void {
    this.#lacking = new Set();
  }

  /** Keeps only these sessions. */
  keep(scopes: ReadonlyMap<string, unknown>): void {
    for (const scope of this.#sessions.keys()) {
      if (!scopes.has(scope)) this.#sessions.delete(scope);
    }
  }

  /** Returns the new positions file; undefined while events are missing. */
  text(end: SegmentsEnd): string | undefined {
    if (this.incomplete) return undefined;
    const positions: Positions = { v: 1, ...end, sessions: Object.fromEntries(this.#sessions) };
    return `${JSON.stringify(positions)}\n`;
  }
}

/** Undefined without a valid file. */
export async function readPositions(dir: string): Promise<Positions | undefined> {
  try {
    const { v, bus_seq, first, size, sessions } = JSON.parse(
      await readTextIfAny(positionsPath(dir)) ?? "{}",
    );
    const good = v === 1 && Number.isSafeInteger(bus_seq) && typeof sessions === "object" &&
      sessions !== null && Object.values(sessions).every(Number.isSafeInteger);
    return good ? { v, bus_seq, first, size, sessions } : undefined;
  } catch {
    // Reading the records instead takes longer.
    return undefined;
  }
}

/** Returns the end of the records, if the positions have it. */
export function endOf(positions: Positions | undefined): SegmentsEnd | undefined {
  const { bus_seq, first, size } = positions ?? {};
  const known = [bus_seq, first, size].every(Number.isSafeInteger);
  return known ? { bus_seq, first, size } as SegmentsEnd : undefined;
}
