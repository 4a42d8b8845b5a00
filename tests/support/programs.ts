/** The programs of this machine. */
import { which } from "../../src/os/which.ts";
import { noted } from "./lacking.ts";
import { can_run_svc } from "./svc.ts";

/** Where a program is; undefined where there is none, or the test run may not start it. */
export function programPath(name: string): string | undefined {
  if (!can_run_svc) return undefined;
  const path = which(name, Deno.env.get("PATH"));
  noted(path !== undefined, name);
  return path;
}

/** Whether a program is there, and the test run may start it. */
export function hasProgram(name: string): boolean {
  return programPath(name) !== undefined;
}
