/** `[terminal]` of daemon.toml. */
import * as z from "zod";
import { section } from "../../config/section.ts";

const live = { restart: false } as const;

export const TERMINAL = section("terminal", () =>
  z.strictObject({
    vi_keys: z.boolean().default(false).describe("Whether `svc chat` uses the keys of vi"),
  }).prefault({}), { vi_keys: live });
