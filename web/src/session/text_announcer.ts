/** Says what a model writes: whole sentences, not more often than can be listened to. */
import type { Change } from "../../../src/session/view.ts";

const EVERY_MS = 4_000;
const SAID_MAX = 400;

export class TextAnnouncer {
  readonly #say: (text: string) => void;
  #text = "";
  #said_at = -Infinity;

  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  /** Takes what changed just now. */
  take(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.type === "grew" && change.item.kind === "text") this.#write(change.text);
      else if (change.type === "added" && change.item.kind === "text") {
        this.#write(change.item.text);
      } else if (change.type === "turn_ended") {
        this.#speak(this.#text.length);
        const { stop_reason, error } = change.end;
        if (stop_reason !== "ok") this.#say(`The turn ended: ${error ?? stop_reason}`);
      }
    }
  }

  #write(text: string): void {
    this.#text += text;
    if (performance.now() - this.#said_at >= EVERY_MS) this.#speak(sentenceEnd(this.#text));
  }

  #speak(length: number): void {
    const text = this.#text.slice(0, length).trim();
    this.#text = this.#text.slice(length);
    if (text === "") return;
    this.#said_at = performance.now();
    this.#say(text.length > SAID_MAX ? `… ${text.slice(-SAID_MAX)}` : text);
  }
}

/** How much of a text is whole sentences or lines. */
function sentenceEnd(text: string): number {
  const [...ends] = text.matchAll(/[.!?:]\s|\n/g);
  const last = ends.at(-1);
  return last === undefined ? 0 : last.index + last[0].length;
}
