/** Events on the bus. */
import * as z from "zod";

/** An event of a session or of the daemon. */
export const busEventSchema = () =>
  z.object({
    bus_seq: z.int(),
    session_id: z.string().optional(),
    seq: z.int().optional(),
    at: z.string(),
    type: z.string(),
    data: z.unknown(),
  });

export type BusEvent = z.output<ReturnType<typeof busEventSchema>>;
