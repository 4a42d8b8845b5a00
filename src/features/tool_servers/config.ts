import * as z from "zod";
import { section } from "../../config/section.ts";

export const POLICY = section("policy", () =>
  z.strictObject({
    allow_project: z.boolean().default(false)
      .describe("Whether svc reads the `svc.policy.yaml` of a project"),
    project_env: z.array(z.string()).default([])
      .describe("Variables that the tool servers of a project may receive"),
  }).prefault({}));
