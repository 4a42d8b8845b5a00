import * as z from "zod";
import { section } from "../../config/section.ts";

export const CORTEX = section("cortex", () =>
  z.strictObject({
    curator: z.boolean().default(true)
      .describe("Whether a model reads finished turns for what is worth remembering"),
    recall_tokens: z.int().min(0).max(100_000).default(1000)
      .describe("Tokens of a prompt that may come from the memory; 0 for none"),
  }).prefault({}), { curator: { restart: false }, recall_tokens: { restart: false } });
