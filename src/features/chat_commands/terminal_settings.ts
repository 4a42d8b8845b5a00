/** What a person has chosen for terminals. */
import { type ThemeName, THEMES } from "../../protocol/themes.ts";
import type { CallVerb } from "../verb_types.ts";

/** `[terminal]` of daemon.toml. */
export interface TerminalSettings {
  theme: ThemeName;
  /** Whether the mouse scrolls, clicks and copies. */
  mouse: boolean;
  reduced_motion: boolean;
  /** Whether the message is written with the keys of vi. */
  vi_keys: boolean;
}

/** Reads the person's settings for terminals. */
export async function terminalSettings(call: CallVerb): Promise<TerminalSettings> {
  const { settings } = await call("daemon.get_config", {});
  // Older daemons have neither.
  const theme = THEMES.find((it) => it === settings["terminal.theme"]?.value) ?? "auto";
  return {
    theme,
    mouse: settings["terminal.mouse"]?.value !== false,
    reduced_motion: settings["terminal.reduced_motion"]?.value === true,
    vi_keys: settings["terminal.vi_keys"]?.value === true,
  };
}
