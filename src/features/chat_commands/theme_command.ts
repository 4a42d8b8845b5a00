/** The line of a terminal's chat that shows or changes its colours. */
import { SvcError } from "../../protocol/errors.ts";
import { type ThemeName, THEMES } from "../../protocol/themes.ts";
import type { CallVerb } from "../verb_types.ts";
import { terminalSettings } from "./terminal_settings.ts";

/** Returns what follows `/theme`; undefined for other lines. */
export function themeCommand(line: string): string | undefined {
  return /^\/theme(?:\s+(\S+))?$/.exec(line.trim())?.slice(1).map((it) => it ?? "")[0];
}

/**
 * Runs the command; without a name it shows the theme.
 *
 * @throws {SvcError} validation for an unknown name
 */
export async function runTheme(
  name: string,
  call: CallVerb,
): Promise<{ said: string; theme: ThemeName }> {
  if (name === "") {
    const { theme } = await terminalSettings(call);
    return { said: `theme: ${theme}\n/theme changes it: ${THEMES.join(", ")}`, theme };
  }
  const theme = THEMES.find((it) => it === name);
  if (theme === undefined) {
    throw new SvcError("validation", `there is no theme ${JSON.stringify(name)}`, {
      hint: `one of ${THEMES.join(", ")}`,
    });
  }
  await call("daemon.set_config", { changes: { "terminal.theme": theme } });
  return { said: `theme: ${theme}`, theme };
}
