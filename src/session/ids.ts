import { monotonicUlid } from "@std/ulid";

export { isWorkTitle } from "./titles.ts";

/** Makes ids of the shape `<prefix>_<ULID>`. */
export interface Ids {
  next(
    prefix: "sess" | "msg" | "turn" | "appr" | "call" | "lane" | "mem" | "rule" | "cmd" | "rewind",
  ): string;
}

/** Ids that sort by the time they were made. */
export function ulidIds(): Ids {
  return { next: (prefix) => `${prefix}_${monotonicUlid()}` };
}
