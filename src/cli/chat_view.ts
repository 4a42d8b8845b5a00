/** What `svc chat` prints about a session, line by line. */
import { visible } from "../base/visible.ts";
import { withNames } from "../models/toolbelt.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { deliveryText } from "../protocol/note_text.ts";
import { type Change, View } from "../session/view.ts";
import { changeLines, type Paint } from "./chat_render.ts";
import { named } from "./own_name.ts";

export interface ChatOutput {
  readonly paint: Paint;
  /** Prints a piece of the model's text unchanged. */
  write(text: string): void;
  /** Prints a separate line. */
  say(line: string): void;
}

export class ChatView {
  readonly #output: ChatOutput;
  readonly #view = new View();
  /** Ids of what the person typed here and already sees. */
  readonly #here = new Set<string>();

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
    for (const change of this.#view.apply(event)) this.#show(change);
  }

  #show(change: Change): void {
    const { paint, write, say } = this.#output;
    if (change.type === "grew") {
      if (change.item.kind === "text") write(withNames(change.text, named));
      return;
    }
    if (change.type === "added" && change.item.kind === "text") {
      return write(withNames(change.item.text, named));
    }
    if (change.type === "added" && change.item.kind === "user") {
      const { client_message_id = "", text, delivery } = change.item;
      if (!this.#here.delete(client_message_id)) say(paint.bold(`› ${visible(text)}`));
      if (delivery !== undefined) {
        say(paint.dim(`${deliveryText(delivery)}; /withdraw takes it back`));
      }
    }
    if (change.type === "settled" && this.#here.delete(change.asked.approval_id)) return;
    for (const line of changeLines(change, paint)) say(line);
  }
}
