/** The line of a terminal's chat that turns the keys of vi on and off. */
import { SvcError } from "../../protocol/errors.ts";
import type { CallVerb } from "../verb_types.ts";
import { terminalSettings } from "./terminal_settings.ts";

const SETTING = "terminal.vi_keys";

/** Returns what follows `/vi`; undefined for other lines. */
export function viCommand(line: string): string | undefined {
  const found = /^\/vi(?:\s+(\S+))?$/.exec(line.trim());
  return found === null ? undefined : found[1] ?? "";
}

/**
 * Runs the command; without a value it says whether they are on.
 *
 * @throws {SvcError} validation for another value than on and off
 */
export async function runVi(value: string, call: CallVerb): Promise<{ said: string; on: boolean }> {
  if (value === "") {
    const on = (await terminalSettings(call)).vi_keys;
    return { said: `vi keys: ${on ? "on" : "off"}\n/vi on and /vi off change it`, on };
  }
  if (value !== "on" && value !== "off") {
    throw new SvcError("validation", `/vi takes on or off, not ${JSON.stringify(value)}`);
  }
  const on = value === "on";
  await call("daemon.set_config", { changes: { [SETTING]: on } });
  return { said: `vi keys: ${value}`, on };
}
