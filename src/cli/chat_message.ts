import type { RpcClient } from "../client/rpc.ts";

/**
 * Expands a command such as `/name arguments`, and returns `\/text` without its first character;
 * other text is returned unchanged.
 *
 * @throws {SvcError} not_found if only a similar command exists
 */
export async function messageFor(
  rpc: RpcClient,
  session_id: string,
  text: string,
): Promise<string> {
  if (!text.startsWith("/") && !text.startsWith("\\/")) return text;
  return (await rpc.call("commands.expand", { session_id, text })).text;
}
