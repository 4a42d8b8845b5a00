import type { TaskClient } from "../client_store.ts";

/** What a task itself keeps of its client. */
export type ClientRef = Omit<TaskClient, "message">;

/** Leaves out what the client said: a task is written at each of its steps. */
export function refOf({ key_id, request_id, context_id }: TaskClient): ClientRef {
  return { key_id, request_id, context_id };
}
