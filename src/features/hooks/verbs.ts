import * as z from "zod";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import { type HookList, hookListSchema } from "./schemas.ts";

interface HookServices {
  /** The hooks of a session's directory too, if one is given. */
  listHooks(session_id?: string): Promise<HookList>;
}

const defineVerb = verbsOf<HookServices>();

export const hookVerbs = [
  defineVerb({
    name: "hooks.list",
    summary: "Lists the hooks of daemon.toml and, for a session, those of its directory.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id().optional().describe("Also list the hooks of its directory"),
      }),
    output: hookListSchema,
    handle: ({ services }, params) => services.listHooks(params.session_id),
  }),
];
