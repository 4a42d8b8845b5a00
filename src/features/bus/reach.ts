/** How far the bus reaches into the journal of each session. */
import { readTextIfAny } from "../../os/files.ts";
import type { BusRecord } from "./record.ts";
import { positionsPath, type Segments, type SegmentsEnd } from "./segments.ts";

/** What the positions file has. */
export interface Positions {
  v: 1;
  /** The last record when this was written. */
  bus_seq: number;
  /** The segment that it is in, and where it ends there; not in files of earlier builds. */
  first?: number;
  size?: number;
  /** By session, the seq of its last event on the bus. */
  sessions: Record<string, number>;
}

export class Reach {
  readonly #sessions: Map<string, number>;
  /** The last seq by session that came from a journal in this process. */
  readonly #from_journal = new Map<string, number>();
  /** Before this, events of a session that is not on the bus are taken to have been dropped from it. */
  readonly #since_at: string;
  /** Sessions of which the bus may lack events. */
  #lacking: "all" | Set<string>;
  #moved = false;

  private constructor(sessions: Map<string, number>, complete: boolean, since_at: string) {
    this.#sessions = sessions;
    this.#since_at = since_at;
    this.#lacking = complete ? new Set() : "all";
  }

  /** Finds it in the positions file, and in the records that are newer than that. */
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

  /** Whether events of sessions came in this process. */
  get moved(): boolean {
    return this.#moved;
  }

  /** Whether the bus may lack events. */
  get incomplete(): boolean {
    return this.#lacking === "all" || this.#lacking.size > 0;
  }

  lacks(scope: string): boolean {
    return this.#lacking === "all" || this.#lacking.has(scope);
  }

  /** Notes that an event of a session did not get on the bus. */
  missed(scope: string): void {
    if (this.#lacking !== "all") this.#lacking.add(scope);
  }

  /** Where to read on in a session's journal. */
  after(scope: string): [since_seq: number, since_at: string] {
    const seq = this.#sessions.get(scope);
    return seq === undefined ? [0, this.#since_at] : [seq, ""];
  }

  /** Whether an event came from the journal before its session told it. */
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

  /** Notes that the journals have nothing that the bus lacks. */
  completed(): void {
    this.#lacking = new Set();
  }

  /** Forgets sessions that are gone. */
  keep(scopes: ReadonlyMap<string, unknown>): void {
    for (const scope of this.#sessions.keys()) {
      if (!scopes.has(scope)) this.#sessions.delete(scope);
    }
  }

  /** What the positions file is to hold; undefined while events are lacking. */
  text(end: SegmentsEnd): string | undefined {
    if (this.incomplete) return undefined;
    const positions: Positions = { v: 1, ...end, sessions: Object.fromEntries(this.#sessions) };
    return `${JSON.stringify(positions)}\n`;
  }
}

/** Reads the positions file; undefined when there is none that can be used. */
export async function readPositions(dir: string): Promise<Positions | undefined> {
  try {
    const { v, bus_seq, first, size, sessions } = JSON.parse(
      await readTextIfAny(positionsPath(dir)) ?? "{}",
    );
    const good = v === 1 && Number.isSafeInteger(bus_seq) && typeof sessions === "object" &&
      sessions !== null && Object.values(sessions).every(Number.isSafeInteger);
    return good ? { v, bus_seq, first, size, sessions } : undefined;
  } catch {
    // The records have it all; reading them takes longer.
    return undefined;
  }
}

/** Where the records of the bus ended when the positions were written, as far as they say it. */
export function endOf(positions: Positions | undefined): SegmentsEnd | undefined {
  const { bus_seq, first, size } = positions ?? {};
  const known = [bus_seq, first, size].every(Number.isSafeInteger);
  return known ? { bus_seq, first, size } as SegmentsEnd : undefined;
}
