import * as z from "zod";
import { session_id } from "../../verbs/session_id.ts";
import { approval } from "../../protocol/schemas/session.ts";
import { verbsOf } from "../../verbs/define.ts";
import type { Host } from "../../verbs/host.ts";
import type { Permissions } from "./open.ts";
import { action, callTestSchema, newRuleSchema, place, scope } from "./schemas.ts";

export interface PermissionServices {
  readonly host: Pick<Host, "builtin_tools" | "config" | "hub">;
  permissions(): Promise<Permissions>;
}

const defineVerb = verbsOf<PermissionServices>();

const item = () =>
  z.object({
    action: action(),
    rule: z.string(),
    source: z.enum(["config", "kept", "project", "session"])
      .describe("daemon.toml, a kept rule, the project's file, or an always of that session"),
    rule_id: z.string().optional().describe("Of a kept rule"),
    scope: scope().optional(),
    directory: z.string().optional(),
    session_id: session_id().optional(),
    bound: z.string().optional().describe("The tool, as it was when the rule was made"),
    made_at: z.string().optional(),
    made_by: z.string().optional(),
  });

export const permissionVerbs = [
  defineVerb({
    name: "permissions.list",
    summary: "Lists the permission rules: all, or those that hold in a session or a directory.",
    access: "read",
    rest: { method: "GET", path: "/v1/permissions", status: 200 },
    input: () => z.object(place()),
    output: () =>
      z.object({
        rules: z.array(item()),
        problem: z.string().optional().describe("Why the project's file cannot be used"),
        untrusted: z.array(z.string()).optional()
          .describe("What the project's file would allow, if the directory was trusted"),
        hooks: z.array(z.string()).optional().describe("The project's hooks, a line each"),
        hooks_run: z.boolean().optional()
          .describe("Whether they run, because the directory is trusted"),
        trusted: z.array(z.object({
          directory: z.string(),
          trusted_at: z.string(),
          trusted_by: z.string(),
        })).optional().describe("Without a place: the directories whose own rules may allow"),
      }),
    handle: async ({ services }, params) =>
      await (await import("./handle.ts")).listRules(services, params),
  }),
  defineVerb({
    name: "permissions.test",
    summary: "Shows what would happen to a call, and which rule decides.",
    access: "read",
    input: callTestSchema,
    output: () =>
      z.object({
        decision: z.enum(["allow", "ask", "deny"]),
        decided_by: z.enum(["rule", "mode", "always"]),
        approval: approval().describe("The approval mode that holds"),
        rule: item().pick({ action: true, rule: true, source: true, rule_id: true }).optional(),
        part: z.string().optional().describe("The command of the line that decides"),
        why: z.string().optional(),
      }),
    handle: async ({ services }, params) =>
      await (await import("./handle.ts")).testCall(services, params),
  }),
  defineVerb({
    name: "permissions.trust",
    summary: "Lets a directory's own rules allow calls and its hooks run, until they change.",
    access: "write",
    idempotent: true,
    input: () => z.object(place()),
    output: () =>
      z.object({
        directory: z.string(),
        allows: z.array(z.string()),
        hooks: z.array(z.string()).describe("What runs, a line each"),
      }),
    handle: async ({ services, caller }, params) =>
      await (await import("./handle.ts")).trustDirectory(services, params, caller),
  }),
  defineVerb({
    name: "permissions.untrust",
    summary: "Takes the trust in a directory's own rules and hooks back.",
    access: "write",
    destructive: true,
    input: () => z.object(place()),
    output: () => z.object({ directory: z.string() }),
    handle: async ({ services }, params) =>
      await (await import("./handle.ts")).untrustDirectory(services, params),
  }),
  defineVerb({
    name: "permissions.add",
    summary: "Keeps a permission rule for a session, a directory or everywhere.",
    access: "write",
    idempotent: true,
    input: newRuleSchema,
    output: () => z.object({ rule_id: z.string(), rule: z.string() }),
    handle: async ({ services, caller }, params) =>
      await (await import("./handle.ts")).addRule(services, params, caller.via),
  }),
  defineVerb({
    name: "permissions.remove",
    summary: "Removes a kept permission rule.",
    access: "write",
    destructive: true,
    input: () => z.object({ rule_id: z.string().min(1).max(100) }),
    output: () => z.object({ rule_id: z.string(), rule: z.string() }),
    async handle({ services }, { rule_id }) {
      const { rule } = await (await services.permissions()).remove(rule_id);
      return { rule_id, rule };
    },
  }),
];
