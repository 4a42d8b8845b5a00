/** Providers and models. */
import * as z from "zod";
import { EFFORTS } from "../effort.ts";

export const modelUsageSchema = () =>
  z.object({
    tokens_in: z.int(),
    tokens_out: z.int(),
    tokens_cached: z.int().describe("Input tokens read from the provider's cache"),
    tokens_cache_write: z.int().describe("Input tokens written to the provider's cache"),
  });

export const providerInfoSchema = () =>
  z.object({
    provider: z.string(),
    kind: z.string(),
    configured: z.boolean().describe(
      "Whether everything needed to call the provider is configured; a local server may not be running",
    ),
  });

/** USD per million tokens. */
export const priceSchema = () =>
  z.object({
    input: z.number(),
    output: z.number(),
    cache_read: z.number().describe("Input read from the provider's cache"),
    cache_write: z.number().describe("Input written to the provider's cache"),
  });

export const usableModelSchema = () =>
  z.object({
    id: z.string().describe("<provider>/<model>"),
    title: z.string().optional(),
    default: z.boolean(),
    context_tokens: z.int().optional().describe(
      "Maximum length of a conversation with its answer, if known",
    ),
    output_tokens: z.int().optional().describe("Maximum length of an answer, if known"),
    price: priceSchema().optional().describe("USD per million tokens, if known"),
    images: z.boolean().describe("Whether the model accepts images"),
    efforts: z.array(z.enum(EFFORTS)).optional().describe(
      "Its levels of effort, if known; empty for a model that does not reason",
    ),
  });

export const providerOverviewSchema = () =>
  z.object({
    provider: z.string(),
    kind: z.string(),
    configured: z.boolean(),
    address: z.string().optional().describe("Base URL"),
    key_from: z.enum(["environment", "login"]).optional()
      .describe("Whether its key comes from the daemon's environment or from `svc login`"),
    problem: z.string().optional().describe("Why its models are not listed"),
    hint: z.string().optional().describe("What to do about it"),
  });

export const catalogueOverviewSchema = () =>
  z.object({
    source: z.string(),
    license: z.string(),
    date: z.string().describe("Day of its data"),
    problem: z.string().optional().describe("Why a downloaded catalogue is not used"),
  });

export const overviewSchema = () =>
  z.object({
    default_model: z.string(),
    providers: z.array(providerOverviewSchema()),
    models: z.array(usableModelSchema()),
    catalogue: catalogueOverviewSchema().describe("Where limits and prices come from"),
  });

export const acpEntrySchema = () =>
  z.strictObject({
    command: z.string().min(1).describe("The program to start"),
    args: z.array(z.string()).default([]).describe("Its arguments"),
    env: z.array(z.string()).default([])
      .describe("Variables of the daemon's environment that it receives"),
    network: z.boolean().default(false).describe("Whether it reaches the network"),
  });
