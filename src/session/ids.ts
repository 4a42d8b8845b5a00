import { monotonicUlid } from "@std/ulid";

export { isTaskTitle, isWorkTitle } from "./titles.ts";

/** Makes ids of the form `<prefix>_<ULID>`. */
export interface Ids {
  next(
    prefix: "sess" | "msg" | "turn" | "appr" | "call" | "lane" | "mem" | "rule" | "cmd" | "rewind",
  ): string;
}

/** Ids that sort by creation time. */
export function ulidIds(): Ids {
  return { next: (prefix) => `${prefix}_${monotonicUlid()}` };
}
