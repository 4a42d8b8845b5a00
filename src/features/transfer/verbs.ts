import * as z from "zod";
import type { Config } from "../../config/config.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import type { Hub } from "../../session/hub.ts";
import { mayBeModel, verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import { importedSchema, importInputSchema } from "./schemas.ts";

interface TransferServices {
  readonly hub: Hub;
  models(): ModelRegistry;
  config(): Config;
  /** The file of this machine's key. */
  readonly ledger_key: string;
}

const defineVerb = verbsOf<TransferServices>();

export const transferVerbs = [
  defineVerb({
    name: "session.export",
    summary: "Exports a session as a file: a readable conversation, or all of its records.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id(),
        format: z.enum(["markdown", "html", "json"]).default("markdown")
          .describe("json: the journal's records and the attachments, signed"),
        cursor: z.string().max(64).optional().describe("next_cursor of the previous part"),
      }),
    output: () =>
      z.object({
        content: z.string().describe("A part of the file; join the parts in order"),
        next_cursor: z.string().optional(),
      }),
    async handle({ services }, { session_id, format, cursor }) {
      const { exportPart } = await import("./export.ts");
      const session = await services.hub.get(session_id);
      return await exportPart(session, format, services.ledger_key, cursor);
    },
  }),
  defineVerb({
    name: "session.import",
    summary: "Starts a session with the conversation in a JSON file that session.export wrote.",
    access: "write",
    input: importInputSchema,
    output: importedSchema,
    async handle({ services, caller }, params) {
      const { importSession } = await import("./import.ts");
      return await importSession(services, params, mayBeModel(caller));
    },
  }),
];
