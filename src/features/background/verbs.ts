import * as z from "zod";
import type { BackgroundCommands } from "../../agent/background.ts";
import type { Opener } from "../../base/lazy.ts";
import type { Hub } from "../../session/hub.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import { outputPieceSchema } from "../../protocol/schemas/background.ts";

/** The services of the verbs of background commands. */
export interface BackgroundServices {
  background: Opener<BackgroundCommands>;
  hub: Hub;
}

const defineVerb = verbsOf<BackgroundServices>();
const views = () => import("./views.ts");

const ids = () => ({ session_id: session_id(), command_id: z.string() });
const state = () => ({
  running: z.boolean(),
  exit_code: z.int().optional(),
  end: z.string().optional().describe("How it ended, in words"),
});

export const backgroundVerbs = [
  defineVerb({
    name: "background.list",
    summary: "Lists the background commands of a session: those that run, and the last that ended.",
    access: "read",
    input: () => z.object({ session_id: session_id() }),
    output: () =>
      z.object({
        commands: z.array(z.object({
          command_id: z.string(),
          command: z.string(),
          started_at: z.string(),
          output_bytes: z.int(),
          ...state(),
        })),
      }),
    async handle({ services }, params) {
      return await (await views()).list(services, params);
    },
  }),
  defineVerb({
    name: "background.output",
    summary: "Returns output of a background command, from a place on.",
    access: "read",
    input: () =>
      z.object({
        ...ids(),
        from: z.int().min(0).default(0).describe("The next of the last answer"),
        bytes: z.int().min(1).max(65_536).default(65_536),
      }),
    output: () => outputPieceSchema().extend(state()),
    async handle({ services }, params) {
      return await (await views()).read(services, params);
    },
  }),
  defineVerb({
    name: "background.stop",
    summary: "Ends a background command with everything that it started.",
    access: "write",
    destructive: true,
    idempotent: true,
    input: () => z.object(ids()),
    output: () => z.object({ stopped: z.boolean().describe("False when it had ended before") }),
    async handle({ services, caller }, params) {
      return await (await views()).stop(services, params, caller.via);
    },
  }),
];
