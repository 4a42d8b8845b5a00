import * as z from "zod";
import type { Config } from "../../config/config.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import type { Hub } from "../../session/hub.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import { importInputSchema } from "./file.ts";

interface TransferServices {
  readonly hub: Hub;
  models(): ModelRegistry;
  config(): Config;
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
          .describe("json contains the journal's records and the attachments"),
        cursor: z.string().max(64).optional().describe("next_cursor of the previous part"),
      }),
    output: () =>
      z.object({
        content: z.string().describe("A part of the file; join the parts in order"),
        next_cursor: z.string().optional(),
      }),
    async handle({ services }, { session_id, format, cursor }) {
      const { exportPart } = await import("./export.ts");
      return await exportPart(await services.hub.get(session_id), format, cursor);
    },
  }),
  defineVerb({
    name: "session.import",
    summary: "Starts a session with the conversation in a JSON file that session.export wrote.",
    access: "write",
    input: importInputSchema,
    output: () =>
      z.object({
        session_id: session_id(),
        workdir: z.string(),
        title: z.string(),
        messages: z.int().describe("Number of messages in the conversation"),
      }),
    async handle({ services }, params) {
      const { importSession } = await import("./import.ts");
      return await importSession(services, params);
    },
  }),
];
