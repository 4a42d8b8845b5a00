/** What `svc chat` prints about a session, line by line. */
import { visible } from "../base/visible.ts";
import { withNames } from "../models/toolbelt.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { deliveryText } from "../protocol/note_text.ts";
import { type Change, View } from "../session/view.ts";
import { named } from "./own_name.ts";
import { endWords, told, wordLines } from "./plain_words.ts";

export interface ChatOutput {
  /** Prints a piece of the model's text. */
  text(piece: string): void;
  /** The model goes on with other text than before. */
  endText(): void;
  /** Prints a separate line. */
  say(line: string): void;
}

export class ChatView {
  readonly #output: ChatOutput;
  readonly #view = new View();
  /** Ids of what the person typed here and already sees. */
  readonly #here = new Set<string>();
  /** When the running turn began, in milliseconds since 1970. */
  #began_at = NaN;
  #now = NaN;

  constructor(output: ChatOutput) {
    this.#output = output;
  }

  /**
   * Skips what was typed here.
   *
   * @param id `client_message_id`, or `approval_id` of an answered question
   */
  typedHere(id: string): void {
    this.#here.add(id);
  }

  apply(event: SessionEvent): void {
    this.#now = Date.parse(event.at);
    if (event.type === "turn.started" || event.type === "turn.continued") {
      this.#began_at = this.#now;
    }
    for (const change of this.#view.apply(event)) this.#show(change);
  }

  #show(change: Change): void {
    const { text, endText, say } = this.#output;
    if (change.type === "grew") {
      if (change.item.kind === "text") text(withNames(change.text, named));
      return;
    }
    if (change.type === "added" && change.item.kind === "text") {
      endText();
      return text(withNames(`Answer: ${change.item.text.trimStart()}`, named));
    }
    if (change.type === "added" && change.item.kind === "user") {
      const { client_message_id = "", text, delivery } = change.item;
      if (!this.#here.delete(client_message_id)) {
        for (const line of told("You", visible(text))) say(line);
      }
      if (delivery !== undefined) {
        say(`Note: ${deliveryText(delivery)}; /withdraw takes it back`);
      }
    }
    if (change.type === "turn_ended") {
      const ms = this.#now - this.#began_at;
      return say(endWords(change.end, Number.isNaN(ms) ? undefined : ms));
    }
    if (change.type === "settled" && this.#here.delete(change.asked.approval_id)) return;
    for (const line of wordLines(change)) say(line);
  }
}
