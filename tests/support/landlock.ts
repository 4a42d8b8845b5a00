import { landlockAbi } from "../../src/jail/landlock.ts";
import { noted } from "./lacking.ts";
import { granted } from "./permissions.ts";

/** The version of this kernel's Landlock; 0 without one, or where the test run may not ask. */
export const landlock_abi = granted("ffi", "run", "write", "env", "sys") ? landlockAbi() ?? 0 : 0;

/** Whether commands can run under Landlock here. */
export function hasLandlock(): boolean {
  noted(landlock_abi > 0, "Landlock");
  return landlock_abi > 0;
}
