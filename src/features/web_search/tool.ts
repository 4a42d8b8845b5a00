/** The tool with which a model searches the web. */
import * as z from "zod";
import { defineTool, type Tool, type ToolOutcome } from "../../agent/tool.ts";
import type { Env } from "../../os/paths.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { SearchConfig } from "./config.ts";
import { search, type SearchHit } from "./search.ts";

export interface WebSearchParts {
  /** `[search]` as it is now. */
  config(): SearchConfig | undefined;
  env: Env;
}

const RESULTS = 8;
const RESULTS_MAX = 20;

/** Makes the tool. */
export function webSearchTool({ config, env }: WebSearchParts): Tool {
  return defineTool({
    name: "web_search",
    description: "Searches the web; returns addresses with titles and snippets. Read a page with " +
      "fetch_url before you rely on it.",
    access: "network",
    input: z.strictObject({
      query: z.string().trim().min(1).max(400),
      limit: z.int().min(1).max(RESULTS_MAX).optional()
        .describe(`Number of results (default: ${RESULTS})`),
    }),
    describe: ({ query }) => `search the web for ${query}`,
    async run({ query, limit: count = RESULTS }, { signal }): Promise<ToolOutcome> {
      const chosen = config();
      if (chosen === undefined) {
        return { ok: false, output: "[search] was removed from daemon.toml" };
      }
      try {
        const hits = await search({ config: chosen, env, query, count, signal });
        return { ok: true, output: hits.length === 0 ? "nothing found" : listed(hits) };
      } catch (error) {
        signal.throwIfAborted();
        return { ok: false, output: messageOf(error) };
      }
    },
  });
}

function listed(hits: readonly SearchHit[]): string {
  return hits.map(({ url, title, snippet }, n) =>
    [`${n + 1}. ${title || url}`, `   ${url}`, ...(snippet === "" ? [] : [`   ${snippet}`])]
      .join("\n")
  ).join("\n");
}
