import { sha256Hex } from "../../../base/sha256.ts";
import type { TaskClient } from "../client_store.ts";

/** Returns the key of the object `svc-request` of a client's request. */
export async function requestKey(
  { key_id, request_id }: Pick<TaskClient, "key_id" | "request_id">,
): Promise<string> {
  return await sha256Hex(`${key_id}\0${request_id}`);
}
