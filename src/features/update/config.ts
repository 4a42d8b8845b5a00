import * as z from "zod";
import { section } from "../../config/section.ts";

export const UPDATE = section("update", () =>
  z.strictObject({
    manifest_url: z.url().optional()
      .describe("Address of the release manifest; `{channel}` stands for the channel's name"),
    public_key: z.union([z.string(), z.array(z.string())]).default([])
      .transform((it) => [it].flat())
      .describe("Keys that releases may be signed with; by default, the one of this build"),
  }).prefault({}));
