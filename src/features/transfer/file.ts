/**
 * The JSON file of a session: its header, a journal record a line, an attachment a line, and a
 * signed statement about all of that in the last line. Loaded lazily.
 */
import * as z from "zod";

/** A signed file. */
export const FORMAT = "svc-session/2";
/** Of earlier releases, without a signature. */
const UNSIGNED_FORMAT = "svc-session/1";
const SEQ_MAX = 2 ** 48;

/** What follows the header in its line, and the lines between and after the other parts. */
export const RECORDS = ',"records":[';
export const ATTACHMENTS = '],"attachments":[';
export const SIGNED = '],"signed":';
export const UNSIGNED_END = "]}";

export const headerSchema = () =>
  z.object({
    format: z.enum([FORMAT, UNSIGNED_FORMAT]),
    session_id: z.string().regex(/^sess_[0-9A-Z]{26}$/),
    title: z.string(),
    exported_at: z.string(),
    last_seq: z.int().min(1).max(SEQ_MAX),
    count: z.int().min(1).describe("Number of the records"),
    head: z.string().regex(/^[0-9a-f]{64}$/)
      .describe("The ledger hash of the last record, in hexadecimal"),
  });

export type Header = z.output<ReturnType<typeof headerSchema>>;
