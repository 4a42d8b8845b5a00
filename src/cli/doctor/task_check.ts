import { messageOf, SvcError } from "../../protocol/errors.ts";
import { TASKS, type TasksConfig } from "../../features/tasks/config.ts";
import type { Env } from "../../os/paths.ts";
import { LOOPBACK } from "../hire_flags.ts";
import type { CheckResult, Patient } from "./check.ts";

/** The oldest server whose protocol svc speaks. */
const OLDEST = [1, 5] as const;
const CLOCK_MS = 5_000;

/** Checks the Restate server that stores the tasks: version, clock, and that workers serve it. */
export async function tasks({ config, env }: Patient): Promise<CheckResult> {
  if (config?.of(TASKS).engine !== "restate") {
    return { status: "ok", message: "tasks are kept on this machine" };
  }
  const kept = config.of(TASKS);
  try {
    return await restate(kept, env);
  } catch (error) {
    const hint = error instanceof SvcError ? error.hint : undefined;
    const { restate_url, restate_admin_url } = kept;
    const where = `(restate_url ${restate_url}, restate_admin_url ${restate_admin_url})`;
    return { status: "fail", message: `${messageOf(error)} ${where}`, hint };
  }
}

/** Checks a server. @throws {SvcError} when it cannot be asked. */
export async function restate(config: TasksConfig, env: Env): Promise<CheckResult> {
  const { RestateAdmin } = await import("../../features/tasks/restate/admin.ts");
  const { Ingress } = await import("../../features/tasks/restate/ingress.ts");
  const { restateKey } = await import("../../features/tasks/restate/open.ts");
  const { runService } = await import("../../features/tasks/restate/api.ts");
  const { restate_url, restate_admin_url } = config;
  const admin = new RestateAdmin(config, env);
  const { version, ahead_ms = 0 } = await admin.version();
  const [major, minor] = version.split(".").map(Number);
  if (major !== OLDEST[0] || minor < OLDEST[1]) {
    const message = `Restate at ${restate_admin_url} is version ${version}; svc needs ` +
      `${OLDEST.join(".")} or later, below ${OLDEST[0] + 1}`;
    return { status: "fail", message, hint: "install another version of restate-server" };
  }
  const ingress = new Ingress({ url: restate_url, key: restateKey(config, env) });
  const services = await ingress.services();
  const types = services.flatMap((name) => name.startsWith(runService("")) ? [name.slice(8)] : []);
  if (!services.includes("svc-task") || types.length === 0) {
    return {
      status: "fail",
      message: `Restate ${version} at ${restate_url} is reachable, but no worker is registered`,
      hint: "start a worker with `svc task worker --register`",
    };
  }
  const { workers } = await ingress.call("svc-queue", "all", "state", { now: Date.now() });
  const said = `Restate ${version} at ${restate_url} is reachable`;
  if (Math.abs(ahead_ms) > CLOCK_MS) {
    const seconds = Math.round(Math.abs(ahead_ms) / 1000);
    return {
      status: "warn",
      message: `${said}, but its clock is ${seconds} s ${ahead_ms > 0 ? "ahead" : "behind"}`,
      hint: "synchronise the clocks of both machines",
    };
  }
  if (workers === 0) {
    return {
      status: "warn",
      message: `${said}, but no worker takes queued tasks`,
      hint: "start one with `svc task worker`, or set `svc ctl workers` above 0",
    };
  }
  if (config.artifacts === undefined && !LOOPBACK.test(new URL(restate_url).hostname)) {
    return {
      status: "warn",
      message: `${said}, but each machine keeps artifacts for itself`,
      hint:
        "set [tasks] artifacts to a directory that all machines share, or to s3://bucket/prefix",
    };
  }
  return {
    status: "ok",
    message: `${said}; workers run ${workers} queued tasks at once: ${types.join(", ")}`,
  };
}
