/** `[terminal]` of daemon.toml. */
import * as z from "zod";
import { section } from "../../config/section.ts";
import { THEMES } from "../../protocol/themes.ts";

const live = { restart: false } as const;

export const TERMINAL = section("terminal", () =>
  z.strictObject({
    theme: z.enum(THEMES).default("auto")
      .describe("Colours of `svc chat`; `auto` follows the terminal's background"),
    mouse: z.boolean().default(true)
      .describe("Whether the mouse scrolls, clicks and copies; if not, the terminal selects text"),
    reduced_motion: z.boolean().default(false)
      .describe("Whether nothing on the screen moves by itself while a turn runs"),
    vi_keys: z.boolean().default(false).describe("Whether `svc chat` uses the keys of vi"),
    plain: z.boolean().default(false).describe("Whether `svc chat` uses words line by line"),
  }).prefault({}), { theme: live, mouse: live, reduced_motion: live, vi_keys: live, plain: live });
