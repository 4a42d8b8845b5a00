import * as z from "zod";
import { session_id } from "../../protocol/schemas/session.ts";

export const action = () => z.enum(["allow", "ask", "deny"]);
export const rule = () => z.string().min(1).max(4_096);
export const place = () => ({
  session_id: session_id().optional().describe("A session, with its directory"),
  directory: z.string().optional().describe("Absolute path of a directory"),
});

export const scope = () => z.enum(["session", "directory", "everywhere"]);

export const callTestSchema = () =>
  z.object({
    command: z.string().optional().describe("A command line for run_command"),
    tool: z.string().min(1).max(200).optional(),
    input: z.record(z.string(), z.unknown()).optional().describe("Arguments of the tool"),
    ...place(),
  });

export const newRuleSchema = () =>
  z.object({
    action: action(),
    rule: rule().describe('Such as "run_command: npm test *" or "write_file: src/**"'),
    scope: scope(),
    ...place(),
  });
