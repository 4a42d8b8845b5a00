import * as z from "zod";

/** The offer (product.md, Capabilities record). */
export const capabilitiesSchema = () =>
  z.object({
    version: z.string(),
    task_types: z.array(z.string()),
    budget_usd: z.number(),
    requires_auth: z.boolean().describe("Whether a token is needed"),
  });
