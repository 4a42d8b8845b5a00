/** `[[hooks]]` of daemon.toml. */
import * as z from "zod";
import { section } from "../../config/section.ts";
import { messageOf } from "../../protocol/errors.ts";
import { parseRule } from "../permissions/rule.ts";

/** What hooks can be on. */
export const HOOK_EVENTS = [
  "tool.before",
  "tool.after",
  "turn.started",
  "turn.completed",
  "session.created",
  "question.asked",
] as const;

export type HookEvent = typeof HOOK_EVENTS[number];

/** Hooks of one file. */
export const HOOKS_MAX = 50;

const hookSchema = () =>
  z.strictObject({
    on: z.enum(HOOK_EVENTS).describe("The event that the hook runs on"),
    match: z.string().optional().describe(
      "For tool.before and tool.after: only calls that match this permission rule, such as " +
        '"run_command: git push *"; calls that may match count too',
    ),
    command: z.array(z.string().min(1).max(4_096)).min(1).max(20)
      .describe("The program and its arguments; there is no shell"),
    timeout_s: z.number().min(0.1).max(600).default(30)
      .describe("Time limit for the program, in seconds"),
    may_allow: z.boolean().default(false).describe(
      "For tool.before: whether the answer allow runs the call without asking in trusted " +
        "sessions, like a permission rule",
    ),
    on_failure: z.enum(["deny", "ignore"]).default("deny")
      .describe("For tool.before: what happens to the call if the hook fails"),
    format: z.enum(["svc", "claude"]).default("svc").describe(
      "What the program reads and writes: svc's own messages, or those of Claude Code's hooks",
    ),
  }).superRefine(({ on, match, may_allow, on_failure }, context) => {
    const only = (path: string, events: string) =>
      context.addIssue({ code: "custom", path: [path], message: `is only for ${events}` });
    if (on !== "tool.before" && may_allow) only("may_allow", "tool.before");
    if (on !== "tool.before" && on_failure !== "deny") only("on_failure", "tool.before");
    if (match === undefined) return;
    if (!on.startsWith("tool.")) return only("match", "tool.before and tool.after");
    try {
      parseRule("deny", match);
    } catch (error) {
      context.addIssue({ code: "custom", path: ["match"], message: messageOf(error) });
    }
  });

/** Returns the table's schema. */
export const hooksSchema = () => z.array(hookSchema()).max(HOOKS_MAX).default([]);

export const HOOKS = section("hooks", hooksSchema);

/** A hook as `[[hooks]]` has it. */
export type Hook = z.output<ReturnType<typeof hookSchema>>;
