/** The format of a stored catalogue. */
import * as z from "zod";
import { EFFORTS } from "../protocol/effort.ts";

/** Maximum number of a provider's models. */
export const MODELS_MAX = 5_000;
export const NAME_MAX = 200;
/** The highest limit, in tokens. */
export const TOKENS_MAX = 100_000_000;
/** The highest price, in USD per million tokens. */
export const PRICE_MAX = 100_000;

const rate = () => z.number().min(0).max(PRICE_MAX);
const rates = () => ({ input: rate(), output: rate(), cache_read: rate(), cache_write: rate() });
const tokens = () => z.int().min(1).max(TOKENS_MAX);

/** A catalogue's facts about a model; an absent field is unknown. */
export const modelFactsSchema = () =>
  z.strictObject({
    context_tokens: tokens().optional().describe("A conversation with its answer"),
    output_tokens: tokens().optional().describe("An answer, thinking included"),
    images: z.boolean().optional().describe("Whether the model accepts images"),
    efforts: z.array(z.enum(EFFORTS)).readonly().optional()
      .describe("Its levels of effort; empty for a model that does not reason"),
    price: z.strictObject({
      ...rates(),
      long: z.strictObject({ over: tokens(), ...rates() }).optional(),
    }).optional().describe("USD per million tokens"),
  });

export const catalogueSchema = () =>
  z.strictObject({
    source: z.string().max(500).describe("Where it comes from"),
    license: z.string().max(100),
    date: z.iso.date().describe("The day of its data, such as 2026-11-10"),
    providers: z.record(
      z.string().max(NAME_MAX),
      z.record(z.string().min(1).max(NAME_MAX), modelFactsSchema()).refine(
        (it) => Object.keys(it).length <= MODELS_MAX,
        `has more than ${MODELS_MAX} models`,
      ),
    ).describe("By provider and by the provider's name for the model"),
  });
