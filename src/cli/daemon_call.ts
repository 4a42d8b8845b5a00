/** What the commands that steer the running daemon have in common. */
import { connectPatiently } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { type Flags, UsageError } from "./args.ts";
import { ownPaths } from "./environment.ts";
import { visibleJson } from "../base/visible.ts";

/** Runs one command; returns the exit code. */
export type Handler = (flags: Flags, args: string[]) => Promise<number>;

/** Connects to the running daemon for one use. @throws {SvcError} not_found when none runs. */
export async function withDaemon<T>(use: (rpc: RpcClient) => Promise<T>): Promise<T> {
  const rpc = await connectPatiently(
    ownPaths(),
    () => console.error("svc: no daemon answers yet; trying for a few seconds (Ctrl-C stops)"),
  );
  try {
    return await use(rpc);
  } finally {
    rpc.close();
  }
}

/** Prints JSON. @returns the exit code for done. */
export function print(value: unknown): number {
  console.log(visibleJson(JSON.stringify(value, null, 2)));
  return 0;
}

/** @throws {UsageError} when an argument is missing. */
export function required(
  value: string | undefined,
  name: string,
): asserts value is string {
  if (value === undefined) throw new UsageError(`<${name}> is missing; see svc ctl --help`);
}
