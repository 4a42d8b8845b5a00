import type * as z from "zod";
import type { priceSchema } from "../protocol/schemas/models.ts";

/** USD per million tokens. */
export interface Price extends z.output<ReturnType<typeof priceSchema>> {
  /** The price of the whole call if its input is longer than `over` tokens. */
  long?: { over: number } & Omit<Price, "long">;
}
