/** The status of a running daemon, over its socket. */
import type * as z from "zod";
import { deadline } from "@std/async";
import type { HomePaths } from "../os/paths.ts";
import type { Discovery } from "../protocol/discovery.ts";
import type { commandPathSchema } from "../protocol/schemas/daemon.ts";
import type { providerInfoSchema } from "../protocol/schemas/models.ts";
import { connect } from "./connect.ts";

type ProviderInfo = z.output<ReturnType<typeof providerInfoSchema>>;

export interface DaemonStatus extends Discovery {
  uptime_s: number;
  sessions: number;
  url: string;
  models: ProviderInfo[];
  default_model: string;
  command_path: z.output<ReturnType<typeof commandPathSchema>>;
}

/** Time for a healthy daemon to answer, even if busy. */
const ANSWER_MS = 5_000;

/** Asks the running daemon. @throws {SvcError} not_found. @throws {DOMException} TimeoutError */
export async function daemonStatus(paths: HomePaths): Promise<DaemonStatus> {
  const rpc = await connect(paths);
  try {
    const calls = Promise.all([rpc.call("daemon.discover"), rpc.call("daemon.info")]);
    const [discovery, info] = await deadline(calls, ANSWER_MS);
    const { uptime_s, sessions, models, default_model, command_path } = info;
    const url = `http://127.0.0.1:${discovery.port}/`;
    return { ...discovery, uptime_s, sessions, models, default_model, command_path, url };
  } finally {
    rpc.close();
  }
}
