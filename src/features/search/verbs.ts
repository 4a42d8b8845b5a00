import * as z from "zod";
import type { Hub } from "../../session/hub.ts";
import { mayBeModel, verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import { searchInputSchema } from "./schemas.ts";
import type { Searcher } from "./searcher.ts";

interface SearchServices {
  readonly hub: Hub;
  searcher(): Promise<Searcher>;
}

const defineVerb = verbsOf<SearchServices>();

export const searchVerbs = [
  defineVerb({
    name: "session.search",
    summary: "Searches the conversations of all sessions.",
    access: "read",
    rest: { method: "POST", path: "/v1/sessions/search", status: 200 },
    input: searchInputSchema,
    output: () =>
      z.object({
        results: z.array(z.object({
          session_id: session_id(),
          title: z.string(),
          workdir: z.string(),
          state: z.enum(["running", "paused", "ended"]),
          seq: z.int().describe("Position in the session's journal"),
          at: z.string(),
          who: z.enum(["person", "model", "tool"]),
          snippet: z.array(z.object({ text: z.string(), match: z.literal(true).optional() })),
          text: z.string().optional()
            .describe("With `who`: the beginning of the message, in one line"),
        })),
        next_cursor: z.string().optional(),
        pending_sessions: z.int()
          .describe("Number of sessions that are not indexed yet; search again to include them"),
      }),
    async handle({ services, caller }, params) {
      const { findSaid } = await import("./find.ts");
      // Agents that use svc over MCP do not see untrusted sessions.
      const trusted = mayBeModel(caller);
      return await findSaid(services.hub, await services.searcher(), params, trusted);
    },
  }),
];
