import * as z from "zod";
import { section } from "../../config/section.ts";
import { quota_fields } from "../tasks/quota_fields.ts";

export const HIRE = section("hire", () =>
  z.strictObject({
    shared: z.boolean().default(false)
      .describe("Whether each hirer sees the tasks of all others"),
    ...quota_fields(),
  }).prefault({}));
