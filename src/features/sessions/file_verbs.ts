/** The verbs about the files of a session's directory. */
import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { SessionServices } from "./verbs.ts";

const defineVerb = verbsOf<SessionServices>();

export const fileVerbs = [
  defineVerb({
    name: "files.find",
    summary: "Finds files and directories of a session by parts of their names, best first.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id(),
        query: z.string().max(500).describe("Characters of the path, in order"),
        limit: z.int().min(1).max(50).default(20),
      }),
    output: () =>
      z.object({
        paths: z.array(z.string()).describe(
          "Relative to the directory; directories end with a slash. Without files that are ignored by git or hidden from the session's tools",
        ),
        complete: z.boolean().describe("False if the directory is too large to search all of it"),
      }),
    async handle({ services, signal }, { session_id, query, limit }) {
      const session = await services.hub.get(session_id);
      const scope = {
        session_id,
        workdir: session.state.workdir,
        hidden: services.hidden(session),
      };
      const units = await services.units();
      const { ok, output } = await units.call("find", { query, limit }, scope, signal);
      if (!ok) throw new SvcError("unavailable", `files.find: ${output}`);
      return JSON.parse(output) as { paths: string[]; complete: boolean };
    },
  }),
];
