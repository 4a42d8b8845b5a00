/** What a stored catalogue must look like. */
import * as z from "zod";
import { EFFORTS } from "../protocol/effort.ts";

/** The most models of a provider. */
export const MODELS_MAX = 5_000;
/** The longest name of a model. */
export const NAME_MAX = 200;
/** The most tokens that a limit can state. */
export const TOKENS_MAX = 100_000_000;
/** The highest price, in USD per million tokens. */
export const PRICE_MAX = 100_000;

const rate = () => z.number().min(0).max(PRICE_MAX);
const rates = () => ({ input: rate(), output: rate(), cache_read: rate(), cache_write: rate() });
const tokens = () => z.int().min(1).max(TOKENS_MAX);

/** What a catalogue says of a model; a field that is absent is unknown. */
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

/** A catalogue as it is stored. */
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
