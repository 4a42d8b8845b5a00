/** The conversation of a session: read from its journal when it is needed, and kept as snapshots. */
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import type { Journal } from "./journal.ts";
import type { SessionState } from "./session_state.ts";
import { KEEP_MIN, type Kept, type Snapshots } from "./snapshots.ts";
import type { Published } from "./subscription.ts";
import type { Transcript } from "./transcript.ts";
import { isTakenBack } from "./undo_state.ts";

/** Bytes of a turn's events after which a snapshot is written without waiting for its end. */
const KEEP_BEHIND = 8 * 1024 * 1024;

interface ConversationParts {
  state: SessionState;
  journal: Journal;
  snapshots: Snapshots | undefined;
  log: Log;
  /** Whether a turn runs: it needs the conversation in memory. */
  atWork(): boolean;
}

export class Conversation {
  readonly #parts: ConversationParts;
  #transcript: Transcript | undefined;
  /** What was last read of it at rest, as long as there is memory for it. */
  #rested: { transcript: WeakRef<Transcript>; seq: number } | undefined;
  /** The seq of the last snapshot, and the size of the journal from which on another one is due. */
  #kept_seq: number | undefined;
  #keep_from = KEEP_MIN;
  #keeping: Promise<void> | undefined;
  #stopped = false;

  /** @param kept the snapshot that the session was read from. */
  constructor(parts: ConversationParts, kept?: Kept) {
    this.#parts = parts;
    if (kept !== undefined) this.#noteKept(kept);
  }

  /** Takes in what was committed. */
  apply(events: readonly Published[]): void {
    // What is taken back leaves no trace in the conversation: it is read again without it.
    if (events.some(isRewindOfConversation)) this.#transcript = undefined;
    for (const event of events) this.#transcript?.apply(event);
    const { journal } = this.#parts;
    if (this.#transcript !== undefined && journal.size > this.#keep_from + KEEP_BEHIND) {
      void this.keep();
    }
  }

  /** Returns the conversation and the seq that it stands at; during a turn it stays in memory. */
  async read(): Promise<{ transcript: Transcript; seq: number }> {
    const { state, journal, atWork } = this.#parts;
    while (this.#transcript === undefined) {
      const rested = this.#rested?.transcript.deref();
      if (rested && this.#rested?.seq === state.last_seq && !atWork()) {
        return { transcript: rested, seq: state.last_seq };
      }
      // Loaded here: a daemon that starts reads no conversation.
      const { Transcript } = await import("./transcript.ts");
      const kept = await this.#keptTranscript();
      const transcript = kept?.transcript ?? new Transcript();
      let seq = kept?.seq ?? 0;
      for await (const event of journal.read(seq)) {
        if (event.seq > state.last_seq) break;
        if (!isTakenBack(state.undo, event.seq)) transcript.apply(event);
        seq = event.seq;
      }
      // Events committed meanwhile are missing from it: read again rather than merge.
      if (seq !== state.last_seq) continue;
      if (!atWork()) {
        this.#rested = { transcript: new WeakRef(transcript), seq };
        return { transcript, seq };
      }
      this.#transcript = transcript;
    }
    return { transcript: this.#transcript, seq: state.last_seq };
  }

  /** The conversation of the last snapshot, if it is of this journal and not behind its checkpoint. */
  async #keptTranscript() {
    const { state, journal, snapshots } = this.#parts;
    const kept_seq = this.#kept_seq;
    if (kept_seq === undefined || kept_seq < journal.trimmed_seq) return undefined;
    // It may have what was taken back since, or lack what was given back.
    if (kept_seq < state.undo.changed_seq) return undefined;
    const kept = await snapshots?.readTranscript(state.id);
    return kept?.seq === kept_seq ? kept : undefined;
  }

  /** Writes a snapshot if the journal has grown enough since the last. */
  async keep(): Promise<void> {
    const { state, journal, snapshots, log } = this.#parts;
    if (this.#stopped || snapshots === undefined) return;
    if (this.#keeping !== undefined || journal.size < this.#keep_from) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#keeping = promise;
    try {
      const { transcript, seq } = await this.read();
      // Something happened since; there will be another time.
      if (transcript !== this.#transcript && seq !== state.last_seq) return;
      this.#noteKept(await snapshots.write(state, transcript, journal));
    } catch (error) {
      log.error("cannot write a session's snapshot", {
        session_id: state.id,
        error: messageOf(error),
      });
    } finally {
      this.#keeping = undefined;
      resolve();
    }
  }

  /** Writes a new snapshot after the journal was cut: the places that the last one knows are gone. */
  async keepAnew(): Promise<void> {
    this.#noteKept({ seq: -1, keep_from: 0 });
    await this.keep();
  }

  /** Stops writing snapshots; resolves when none is being written. */
  async stopKeeping(): Promise<void> {
    this.#stopped = true;
    await this.#keeping;
  }

  /** Frees its memory. */
  drop(): void {
    this.#transcript = undefined;
  }

  #noteKept({ seq, keep_from }: Kept): void {
    this.#kept_seq = seq;
    this.#keep_from = keep_from;
  }
}

function isRewindOfConversation({ type, data }: Published): boolean {
  return type === "session.rewound" && data.conversation !== undefined;
}
