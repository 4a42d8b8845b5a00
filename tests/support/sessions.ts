/** Sessions with real journals in a temporary directory, without a daemon. */
import { delay } from "@std/async";
import { join } from "@std/path";
import { ensurePrivateDir } from "../../src/os/files.ts";
import type { Log } from "../../src/os/log.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import type { HubParts } from "../../src/session/hub_parts.ts";
import { Hub } from "../../src/session/hub.ts";
import { type Ids, ulidIds } from "../../src/session/ids.ts";
import { Journal } from "../../src/session/journal.ts";
import { encodeRecord } from "../../src/session/record.ts";
import { Session, type SessionParts } from "../../src/session/session.ts";
import type { TurnEnd } from "../../src/session/turn.ts";
import { applyToState, emptyState } from "../../src/session/state.ts";
import type { Published, Sink } from "../../src/session/subscription.ts";

/** A temporary directory that is removed at the end. */
export class TempDir implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "svc-unit-" }));

  join(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  mkdir(name: string): string {
    const path = join(this.path, name);
    Deno.mkdirSync(path, { recursive: true });
    return path;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

/** A log that keeps its lines. */
export class MemoryLog implements Log {
  lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  debug = this.#taker("debug");
  info = this.#taker("info");
  warn = this.#taker("warn");
  error = this.#taker("error");

  #taker(level: string) {
    return (message: string, fields: Record<string, unknown> = {}) =>
      void this.lines.push({ level, message, fields });
  }

  /** The messages of a level. */
  of(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }
}

/** Ids that count: `msg_1`, `msg_2` …; sessions get the shape of real ones. */
export function countingIds(): Ids {
  let count = 0;
  return {
    next: (prefix) =>
      prefix === "sess" ? `sess_${String(++count).padStart(26, "0")}` : `${prefix}_${++count}`,
  };
}

/** The line of an event as the journal has it. */
export function recordOf(event: SessionEvent): string {
  return encodeRecord(event, JSON.stringify(event.data));
}

/** A new session with a journal at `path`; its first two events are written. */
export async function newSession(
  path: string,
  parts: Partial<SessionParts> = {},
): Promise<Session> {
  const session = new Session(emptyState("sess_1"), Journal.create(path), allParts(parts));
  await Promise.all([
    session.emit("session.created", { workdir: "/w", model: "m/m", title: "t", approval: "ask" }),
    session.emit("lane.created", { lane_id: "main", kind: "main", label: "t", started_at: "now" }),
  ]);
  return session;
}

/** Records a note in the main lane of a session. */
export function note(session: Session, text: string): Promise<SessionEvent> {
  return session.emit("lane.note", { lane_id: "main", text, reason_code: "test" });
}

/** The session of an existing journal. */
export async function reopened(path: string, parts: Partial<SessionParts> = {}): Promise<Session> {
  const state = emptyState("sess_1");
  const { journal } = await Journal.open(path, {
    onRecord: (event) => applyToState(state, event),
  });
  return new Session(state, journal, allParts(parts));
}

/** A turn that takes up what waits and ends. */
function takeUp(session: Session): Promise<TurnEnd> {
  session.takeFresh();
  return Promise.resolve({ stop_reason: "ok" });
}

function allParts(parts: Partial<SessionParts>): SessionParts {
  return {
    ids: countingIds(),
    log: new MemoryLog(),
    runTurn: takeUp,
    onCommit: () => {},
    ...parts,
  };
}

/** A hub as a daemon with its files in `home` has it; its turns take up what waits and end. */
export function newHub(home: string, parts: Pick<HubParts, "log"> & Partial<HubParts>): Hub {
  ensurePrivateDir(home);
  return new Hub({
    home,
    index_path: join(home, "sessions-index.json"),
    anchors: join(home, "anchors"),
    journal_links: join(home, "journals"),
    version: "1.0.0",
    ids: ulidIds(),
    runTurn: takeUp,
    retention: () => ({ age_ms: Infinity, bytes: Infinity }),
    onEnded: () => {},
    onRest: () => {},
    ...parts,
  });
}

/** Waits for a later tick of the file system's clock, so that a change shows in a file's times. */
export function laterFileTime(): Promise<void> {
  return delay(20);
}

/** The events of a journal, read as a restart would. */
export async function journaled(path: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  const { journal } = await Journal.open(path, { onRecord: (event) => events.push(event) });
  journal.release();
  return events;
}

/** A sink that keeps what is delivered to it. */
export class Kept implements Sink {
  events: Published[] = [];
  /** Set when the subscription ended. */
  end: { error: Parameters<Sink["ended"]>[0] } | undefined;
  readonly #pressure: (event: Published) => void | Promise<void>;

  constructor(pressure: (event: Published) => void | Promise<void> = () => {}) {
    this.#pressure = pressure;
  }

  deliver(event: Published): void | Promise<void> {
    this.events.push(event);
    return this.#pressure(event);
  }

  ended(error: Parameters<Sink["ended"]>[0]): void {
    this.end = { error };
  }

  get seqs(): number[] {
    return this.events.map((event) => event.seq);
  }
}

/** The numbers from `first` to `last`. */
export function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => first + n);
}
