/**
 * Snapshots of sessions in svc's home, where no tool writes: journals are read from there. Each is
 * a file of two lines, the state with its place and the conversation, so that the state loads fast.
 */
import { join } from "@std/path";
import { atomicWrite } from "../os/files.ts";
import { readLines } from "../os/lines.ts";
import type { CheckpointState, CheckpointTranscript } from "../protocol/events.ts";
import type { Journal, Place } from "./journal.ts";
import { type SessionState, stateToCheckpoint } from "./session_state.ts";
import type { Transcript } from "./transcript.ts";

/** What opening a session needs. */
interface Snapshot extends Kept {
  place: Place;
  state: SessionState;
}

/** An existing snapshot. */
export interface Kept {
  seq: number;
  /** Size of the journal that makes the next snapshot worthwhile. */
  keep_from: number;
}

/** Format of the files; others are ignored. */
const FORM = 2;
/**
 * Bytes a journal must grow before the next snapshot: a part of the snapshot's size, to balance
 * writes now and reads later.
 */
export const KEEP_MIN = 128 * 1024;
const KEEP_MAX = 1024 * 1024;
const KEEP_PART = 1 / 8;

interface Header {
  form: number;
  place: Place;
  state: CheckpointState;
}

function keepFrom(offset: number, snapshot_size: number): number {
  return offset + Math.min(Math.max(snapshot_size * KEEP_PART, KEEP_MIN), KEEP_MAX);
}

export class Snapshots {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  path(id: string): string {
    return join(this.#dir, `${id}.snapshot`);
  }

  /** The last snapshot of a session; undefined when missing or invalid. */
  async read(id: string): Promise<Snapshot | undefined> {
    const text = await this.#line(id, 1);
    if (text === undefined) return undefined;
    const { size } = await Deno.stat(this.path(id));
    const { stateFromCheckpoint } = await import("./state.ts");
    try {
      const { form, place, state } = JSON.parse(text) as Header;
      if (form !== FORM || state.id !== id) return undefined;
      const { seq, offset } = place;
      return { seq, keep_from: keepFrom(offset, size), place, state: stateFromCheckpoint(state) };
    } catch {
      return undefined;
    }
  }

  /** The conversation of the last snapshot, and its last seq. */
  async readTranscript(
    id: string,
  ): Promise<{ transcript: Transcript; seq: number } | undefined> {
    const text = await this.#line(id, 2);
    if (text === undefined) return undefined;
    const { Transcript } = await import("./transcript.ts");
    try {
      const { seq, ...kept } = JSON.parse(text) as CheckpointTranscript & { seq: number };
      return { transcript: Transcript.from(kept), seq };
    } catch {
      return undefined;
    }
  }

  /** Writes a snapshot; all parts are at the same seq. @throws the system's error */
  async write(state: SessionState, transcript: Transcript, journal: Journal): Promise<Kept> {
    const { id, last_seq: seq } = state;
    const kept = stateToCheckpoint(state);
    // Before the first await, so that all of it is of the same moment.
    const conversation = JSON.stringify({ seq, ...transcript.toCheckpoint() });
    const state_json = JSON.stringify(kept);
    const place = await journal.place();
    const header = `{"form":${FORM},"place":${JSON.stringify(place)},"state":${state_json}}`;
    // After a power cut it may not parse; then the journal is read whole.
    await atomicWrite(this.path(id), `${header}\n${conversation}\n`, 0o600, { durable: false });
    const size = header.length + conversation.length;
    return { seq, keep_from: keepFrom(place.offset, size) };
  }

  async remove(id: string): Promise<void> {
    await Deno.remove(this.path(id)).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }

  async #line(id: string, number: number): Promise<string | undefined> {
    try {
      let at = 0;
      for await (const { line, whole } of readLines(this.path(id), 0, Infinity)) {
        if (++at === number) return whole ? line : undefined;
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}
