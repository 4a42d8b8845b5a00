import type { RpcClient } from "../client/rpc.ts";

/**
 * Returns the message for what a person typed: the text of a command's file for `/name arguments`.
 *
 * @throws {SvcError} not_found if a command has almost that name
 */
export async function messageFor(
  rpc: RpcClient,
  session_id: string,
  text: string,
): Promise<string> {
  if (!text.startsWith("/")) return text;
  return (await rpc.call("commands.expand", { session_id, text })).text;
}
