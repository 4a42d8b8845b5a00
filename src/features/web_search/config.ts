/** `[search]` of daemon.toml. */
import * as z from "zod";
import { section } from "../../config/section.ts";

export const SEARCH = section("search", () =>
  z.strictObject({
    provider: z.enum(["searxng", "brave", "tavily"]).describe(
      "What research and the tool web_search search with",
    ),
    base_url: z.url().optional().describe("Address of the provider; required for SearXNG"),
    api_key_env: z.string().optional().describe("The environment variable with the key"),
  }).refine(({ provider, base_url }) => provider !== "searxng" || base_url !== undefined, {
    message: "searxng needs base_url",
  }).optional());

export type SearchConfig = NonNullable<z.output<ReturnType<typeof SEARCH.schema>>>;
export type SearchProvider = SearchConfig["provider"];
