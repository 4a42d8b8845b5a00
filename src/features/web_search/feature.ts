import { feature } from "../../verbs/feature.ts";
import { SEARCH } from "./config.ts";

/** Web search for models, where a provider is configured. */
export const webSearch = feature({
  name: "web_search",
  sections: [SEARCH],
  open: ({ config, env }) => ({
    services: {},
    async sessionTools({ state }) {
      // What is searched for leaves the machine, so work for others does without.
      if (config().of(SEARCH) === undefined || state.trust !== "trusted") return [];
      const { webSearchTool } = await import("./tool.ts");
      return [webSearchTool({ config: () => config().of(SEARCH), env })];
    },
  }),
});
