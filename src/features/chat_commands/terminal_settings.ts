/** What a person has chosen for terminals. */
import { type ThemeName, THEMES } from "../../protocol/themes.ts";
import type { CallVerb } from "../verb_types.ts";

/** Reads the person's settings for terminals. */
export async function terminalSettings(call: CallVerb) {
  const { settings } = await call("daemon.get_config", {});
  // Older daemons lack some.
  const theme: ThemeName = THEMES.find((it) => it === settings["terminal.theme"]?.value) ?? "auto";
  return {
    theme,
    mouse: settings["terminal.mouse"]?.value !== false,
    reduced_motion: settings["terminal.reduced_motion"]?.value === true,
    vi_keys: settings["terminal.vi_keys"]?.value === true,
    plain: settings["terminal.plain"]?.value === true,
  };
}
