/** The JSON Schemas of `extra` by task type, for forms. Loaded on demand. */
import * as z from "zod";
import { BrowserExtra } from "./browser/request.ts";
import { CodeExtra } from "./code/request.ts";
import { ResearchExtra } from "./research/request.ts";

const DeployExtra = z.object({
  target: z.string().describe("One of deploy_targets in policy.yaml"),
  expected_commit: z.string().optional().describe("The commit that must be running afterwards"),
  dry_run: z.boolean().default(false),
});

const EXTRAS: Readonly<Record<string, z.ZodType>> = {
  research: ResearchExtra,
  browser: BrowserExtra,
  deploy: DeployExtra,
  code: CodeExtra,
};

/** Returns the JSON Schemas of `extra`; a type without one accepts anything. */
export function extraSchemas(
  task_types: readonly string[],
): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    task_types.filter((task_type) => task_type in EXTRAS).map((task_type) => {
      const { $schema: _, ...schema } = z.toJSONSchema(EXTRAS[task_type], {
        io: "input",
        unrepresentable: "any",
      });
      return [task_type, schema];
    }),
  );
}
