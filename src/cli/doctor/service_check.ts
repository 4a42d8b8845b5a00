import { openService } from "../../features/service/service.ts";
import type { CheckResult, Patient } from "./check.ts";

/** Checks that the background unit runs this binary for this home, and runs the daemon. */
export async function service({ paths, env, daemon }: Patient): Promise<CheckResult> {
  const unit = await (await openService({ paths, env, uid: Deno.uid() ?? 0 })).status();
  if (!unit.installed) {
    return { status: "ok", message: "no background unit is installed; clients start the daemon" };
  }
  const { hint } = unit;
  if (!unit.current) {
    return { status: "warn", message: `the unit ${unit.unit_path} runs another program`, hint };
  }
  if (daemon !== undefined && unit.pid !== daemon.pid) {
    return {
      status: "warn",
      message: `the daemon (pid ${daemon.pid}) does not run as the background unit`,
      hint: "`svc serve restart` starts it as the unit",
    };
  }
  const runs = unit.running ? "runs the daemon" : "is installed";
  return { status: "ok", message: `the background unit ${runs}`, hint };
}
