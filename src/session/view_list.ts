/** The items of a {@linkcode View} in order, for clients that can show all of them. */
import { redrawn } from "../base/redraw.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { type Change, type Item, View } from "./view.ts";

/** Characters to keep from the end of a lane's output. */
const LANE_OUTPUT_MAX = 256 * 1024;

export class ViewList {
  readonly items: Item[] = [];
  /** Output of other lanes, until it is a call's result. */
  readonly lane_output = new Map<string, string>();
  readonly view = new View();
  /** Undone items, by rewind. */
  readonly #taken_back = new Map<string, Item[]>();

  /** Applies one event, in seq order. Returns the changes in order. */
  apply(event: SessionEvent): Change[] {
    const changes = this.view.apply(event);
    for (const change of changes) this.#take(change);
    return changes;
  }

  #take(change: Change): void {
    switch (change.type) {
      case "added":
        this.items.push(change.item);
        break;
      case "removed": {
        const at = this.items.lastIndexOf(change.item);
        if (at >= 0) this.items.splice(at, 1);
        break;
      }
      case "changed": {
        const { item } = change;
        if (item.kind === "tool" && item.outcome && item.lane_id !== undefined) {
          this.lane_output.delete(item.lane_id);
        }
        break;
      }
      case "lane_output": {
        const { text, redraws } = change;
        const output = redrawn(this.lane_output.get(change.lane_id) ?? "", text, redraws);
        // Cut seldom, because each cut copies.
        const kept = output.length > 2 * LANE_OUTPUT_MAX ? output.slice(-LANE_OUTPUT_MAX) : output;
        this.lane_output.set(change.lane_id, kept);
        break;
      }
      case "rewound":
        this.#rewind(change);
        break;
    }
  }

  /** Hides the items after a message, or shows them again. */
  #rewind({ seq, rewind }: Extract<Change, { type: "rewound" }>): void {
    const { rewind_id, to_seq, conversation, undo_of } = rewind;
    if (conversation === undefined) return;
    if (undo_of !== undefined) {
      const back = this.#taken_back.get(undo_of) ?? [];
      const after = this.items.findIndex((item) => item.seq > (back[0]?.seq ?? Infinity));
      this.items.splice(after < 0 ? this.items.length : after, 0, ...back);
      this.#taken_back.delete(undo_of);
      return;
    }
    // What waits for a turn of its own is no part of the conversation yet.
    const isTakenBack = (item: Item) =>
      item.seq >= to_seq && item.seq < seq && !(item.kind === "user" && item.queued);
    this.#taken_back.set(rewind_id, this.items.filter(isTakenBack));
    this.items.splice(0, this.items.length, ...this.items.filter((it) => !isTakenBack(it)));
  }
}
