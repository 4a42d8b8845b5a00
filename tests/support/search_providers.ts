/** The providers of web search, as they document what they answer. */
import type { SearchProvider } from "../../src/features/web_search/config.ts";

export const SEARCH_PROVIDERS: readonly SearchProvider[] = ["searxng", "brave", "tavily"];

/** The answer of each with these addresses as results, cut down to what shows its shape. */
export const SEARCH_ANSWERS: Record<SearchProvider, (urls: readonly string[]) => unknown> = {
  searxng: (urls) => ({
    query: "heron",
    number_of_results: 0,
    results: urls.map((url) => ({ url, title: "t", content: `c ${url}`, engine: "e", score: 1 })),
    answers: [],
    infoboxes: [],
    suggestions: [],
    unresponsive_engines: [["some", "timeout"]],
  }),
  brave: (urls) => ({
    type: "search",
    query: { original: "heron", more_results_available: false },
    mixed: { type: "mixed", main: [] },
    ...(urls.length === 0 ? {} : {
      web: {
        type: "search",
        results: urls.map((url) => ({
          title: "t",
          url,
          description: `<strong>c</strong> ${url}`,
          language: "en",
        })),
        family_friendly: true,
      },
    }),
  }),
  tavily: (urls) => ({
    query: "heron",
    answer: null,
    images: [],
    results: urls.map((url) => ({
      title: "t",
      url,
      content: `c ${url}`,
      score: 0.9,
      raw_content: null,
    })),
    response_time: 1.2,
  }),
};
