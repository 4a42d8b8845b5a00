/** `[subagents]` of daemon.toml. */
import * as z from "zod";
import { section } from "../../config/section.ts";

const live = { restart: false } as const;

export const SUBAGENTS = section("subagents", () =>
  z.strictObject({
    parallel: z.int().min(1).max(32).default(8)
      .describe("Maximum number of subagents that work at once in a session; others wait"),
    per_turn: z.int().min(0).max(1_000).default(32)
      .describe("Maximum number of subagents in a turn; 0 allows none"),
    timeout_s: z.int().min(1).max(86_400).default(1_800)
      .describe("Time limit for a subagent, in seconds"),
  }).prefault({}), { parallel: live, per_turn: live, timeout_s: live });

export type SubagentsConfig = ReturnType<ReturnType<typeof SUBAGENTS.schema>["parse"]>;
