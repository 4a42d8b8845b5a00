/** The JSON file of a session: header, journal records, attachments. */
import * as z from "zod";

export const FORMAT = "svc-session/1";
const SEQ_MAX = 2 ** 48;

export const headerSchema = () =>
  z.object({
    format: z.literal(FORMAT),
    session_id: z.string().regex(/^sess_[0-9A-Z]{26}$/),
    title: z.string(),
    exported_at: z.string(),
    last_seq: z.int().min(1).max(SEQ_MAX),
    count: z.int().min(1).describe("Number of the records"),
    head: z.string().regex(/^[0-9a-f]{64}$/)
      .describe("The ledger hash of the last record, in hexadecimal"),
  });

export type Header = z.output<ReturnType<typeof headerSchema>>;

export const importInputSchema = () =>
  z.object({
    path: z.string().describe("Absolute path of the file"),
    workdir: z.string().describe("Absolute path of the working directory"),
    model: z.string().optional().describe("<provider>/<model>"),
    title: z.string().min(1).max(200).optional(),
  });

export type ImportParams = z.output<ReturnType<typeof importInputSchema>>;
