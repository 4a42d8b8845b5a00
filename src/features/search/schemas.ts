import * as z from "zod";

const time = () => z.iso.datetime({ offset: true });

export const searchInputSchema = () =>
  z.object({
    query: z.string().max(500).describe(
      'Words that must all match; "a phrase" for words in a row, wor* for a prefix; ' +
        "empty with `who`: all messages",
    ),
    who: z.literal("person").optional()
      .describe("Only what the person said; the results then have the beginning of each message"),
    workdir: z.string().optional().describe("Only sessions in this directory"),
    since: time().optional().describe("Only messages from this time on"),
    until: time().optional().describe("Only messages up to this time"),
    tools: z.boolean().default(false).describe("Also search tool output"),
    order: z.enum(["newest", "best"]).default("newest")
      .describe("best ranks the newest 1,000 matches, on one page"),
    limit: z.int().min(1).max(100).default(20),
    cursor: z.string().max(32).optional().describe("next_cursor of the previous page"),
  });
