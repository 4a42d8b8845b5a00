import * as z from "zod";
import { section } from "../../config/section.ts";
import { ACP_NAME } from "../../models/acp_entry.ts";

/** Agents of the Agent Client Protocol, by the name in their model id, `acp/<name>`. */
export const ACP = section("acp", () =>
  z.record(
    z.string().regex(ACP_NAME),
    z.strictObject({
      command: z.string().min(1).describe("The program to start"),
      args: z.array(z.string()).default([]).describe("Its arguments"),
      env: z.array(z.string()).default([])
        .describe("Variables of the daemon's environment that it receives"),
      network: z.boolean().default(false).describe("Whether it reaches the network"),
    }),
  ).default({}));
