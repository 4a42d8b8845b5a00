import { deadline } from "@std/async";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { TASKS } from "../../features/tasks/config.ts";
import type { CheckResult, Patient } from "./check.ts";

const ANSWER_MS = 5_000;

/** Checks that the NATS server which stores the tasks answers. */
export async function tasks({ config, env }: Patient): Promise<CheckResult> {
  if (config?.of(TASKS).engine !== "nats") {
    return { status: "ok", message: "tasks are kept on this machine" };
  }
  const kept = config.of(TASKS);
  const { nats_url } = kept;
  try {
    const { natsServer } = await import("../../features/tasks/nats/server.ts");
    const { version, streams } = await deadline(natsServer(kept, env), ANSWER_MS);
    const message =
      `NATS ${version} at ${nats_url} is reachable and has JetStream with ${streams} streams`;
    return { status: "ok", message };
  } catch (error) {
    return {
      status: "fail",
      message: `NATS at ${nats_url}: ${messageOf(error)}`,
      hint: error instanceof SvcError
        ? error.hint
        : "start nats-server with -js, or correct nats_url under [tasks] in daemon.toml",
    };
  }
}
