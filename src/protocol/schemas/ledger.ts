/** The hash chain of a journal. */
import * as z from "zod";

export const hash = () => z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits");

export const ledgerCheckSchema = () =>
  z.object({
    records: z.int().describe("Number of records whose hashes were computed"),
    head: hash(),
    anchored_seq: z.int().describe("Last seq that an anchor vouches for; 0 without an anchor"),
    problem: z.string().optional().describe("What is wrong with the chain"),
  });
