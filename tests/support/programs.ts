/** The programs of this machine. */
import { which } from "../../src/os/which.ts";
import { can_run_svc } from "./svc.ts";

/** Where a program is; undefined where there is none, or the test run may not start it. */
export function programPath(name: string): string | undefined {
  return can_run_svc ? which(name, Deno.env.get("PATH")) : undefined;
}

/** Whether a program is there, and the test run may start it. */
export function hasProgram(name: string): boolean {
  return programPath(name) !== undefined;
}
