import { monotonicUlid } from "@std/ulid";

/** Makes ids of the shape `<prefix>_<ULID>`. */
export interface Ids {
  next(prefix: "sess" | "msg" | "turn" | "appr" | "call" | "lane" | "mem"): string;
}

/** Ids that sort by the time they were made. */
export function ulidIds(): Ids {
  return { next: (prefix) => `${prefix}_${monotonicUlid()}` };
}
