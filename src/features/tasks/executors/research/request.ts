/** The options of a research task in `extra`. */
import { isAbsolute } from "@std/path";
import * as z from "zod";

const NAMED_MAX = 20;

export const ResearchExtra = z.object({
  urls: z.array(z.string()).max(NAMED_MAX).default([]).describe("Pages to read"),
  workdir: z.string().refine(isAbsolute, "must be an absolute path").optional()
    .describe("The directory of the files"),
  files: z.array(z.string().min(1)).max(NAMED_MAX).default([]).describe("Files to read"),
  model: z.string().optional(),
  budget_usd: z.number().positive().optional(),
});
