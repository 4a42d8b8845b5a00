import type { Message } from "../../models/model.ts";
import type { Transcript } from "../../session/transcript.ts";

/** A conversation as it was at a seq, and the JSON of those of its messages that were asked for. */
export interface Asked {
  readonly transcript: Transcript;
  readonly seq: number;
  readonly messages: readonly Message[];
  readonly json: (string | undefined)[];
}

/** How long the conversation that was asked for last is kept for whoever asks next, in milliseconds. */
const NEXT_MS = 2_000;

/**
 * Keeps a conversation from the garbage collector for a moment: who pages through it, or many clients
 * that ask for it at once, would otherwise have it read from the journal again and again, and each
 * would have its own copy.
 */
export class LastAsked {
  #asked: Asked | undefined;
  #timer: number | undefined;

  /** Returns what is kept of a conversation at a seq, and keeps it. */
  keep(transcript: Transcript, seq: number): Asked {
    if (this.#asked?.transcript !== transcript || this.#asked.seq !== seq) {
      const messages = transcript.messages();
      this.#asked = { transcript, seq, messages, json: new Array(messages.length) };
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#asked = undefined, NEXT_MS);
    Deno.unrefTimer(this.#timer);
    return this.#asked;
  }
}
