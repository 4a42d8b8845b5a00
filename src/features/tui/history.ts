/** What the person has said in the session, for Up. */
import type { Model } from "./model.ts";

const HISTORY_MAX = 500;
/** Code units of all messages. */
const KEPT_MAX = 8 * 1024 * 1024;

/** Adds a message to the history, as its newest. */
export function remember(model: Model, text: string): void {
  const history = [...model.history.filter((it) => it !== text), text].slice(-HISTORY_MAX);
  let size = 0;
  const first = history.findLastIndex((it) => (size += it.length) > KEPT_MAX);
  model.history = history.slice(first + 1);
}
