import { connectPatiently } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { ownPaths } from "./environment.ts";
import { visibleJson } from "../base/visible.ts";

/** Connects to the running daemon for one use. @throws {SvcError} not_found if none runs. */
export function withDaemon<T>(use: (rpc: RpcClient) => Promise<T>): Promise<T> {
  const onRetry = () =>
    console.error("svc: the daemon does not answer yet; retrying for a few seconds (Ctrl-C stops)");
  return useOnce(connectPatiently(ownPaths(), onRetry), use);
}

/** Closes a connection after its use. */
export async function useOnce<T>(
  connecting: Promise<RpcClient>,
  use: (rpc: RpcClient) => Promise<T>,
): Promise<T> {
  const rpc = await connecting;
  try {
    return await use(rpc);
  } finally {
    rpc.close();
  }
}

/** Prints JSON. @returns exit code 0. */
export function print(value: unknown): number {
  console.log(visibleJson(JSON.stringify(value, null, 2)));
  return 0;
}
