import * as z from "zod";
import { session_id } from "../../verbs/session_id.ts";

export const importInputSchema = () =>
  z.object({
    path: z.string().describe("Absolute path of the file"),
    workdir: z.string().describe("Absolute path of the working directory"),
    model: z.string().optional().describe("<provider>/<model>"),
    title: z.string().min(1).max(200).optional(),
    trusted_keys: z.array(z.string().max(1_000)).max(100).optional()
      .describe("Keys, as ledger.key shows them, that the person trusts; not for models"),
    signer: z.string().max(100).optional().describe(
      "The fingerprint that the person has confirmed, none for an unsigned file; not for models",
    ),
  });

export const importedSchema = () =>
  z.object({
    session_id: session_id(),
    workdir: z.string(),
    title: z.string(),
    messages: z.int().describe("Number of messages in the conversation"),
    signed_by: z.object({
      fingerprint: z.string().describe("Of the key that signed the file"),
      known: z.enum(["this_machine", "trusted", "confirmed"])
        .describe("Why it was accepted: this machine's key, in trusted_keys, or signer"),
    }).optional().describe("Missing for a file without a signature"),
  });

export type ImportParams = z.output<ReturnType<typeof importInputSchema>>;
