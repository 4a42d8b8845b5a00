import type { TaskClient } from "../client_store.ts";

/** The part of its client that a task itself contains. */
export type ClientRef = Omit<TaskClient, "message">;

/** Omits the client's message, because a task is written at each of its steps. */
export function refOf({ key_id, request_id, context_id }: TaskClient): ClientRef {
  return { key_id, request_id, context_id };
}
