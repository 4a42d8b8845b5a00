/** The hooks of Claude Code's settings files. */
import * as z from "zod";
import type { HookEvent } from "./config.ts";
import { HOOKS_MAX } from "./config.ts";

/** A hook of such a file: a line for a shell. */
export interface ClaudeHook {
  on: HookEvent;
  line: string;
  timeout_s: number;
  /** The tools that it is for, by their names there; undefined for all. */
  tools?: readonly RegExp[];
  /** For tool.after: whether it is for calls that failed. */
  failed?: boolean;
}

const EVENTS: Readonly<Record<string, Pick<ClaudeHook, "on" | "failed">>> = {
  PreToolUse: { on: "tool.before" },
  PostToolUse: { on: "tool.after", failed: false },
  PostToolUseFailure: { on: "tool.after", failed: true },
  UserPromptSubmit: { on: "turn.started" },
  Stop: { on: "turn.completed" },
  SessionStart: { on: "session.created" },
  Notification: { on: "question.asked" },
  PermissionRequest: { on: "question.asked" },
};

const TIMEOUT_S = 60;
const TIMEOUT_MAX_S = 600;

const settingsSchema = () =>
  z.object({
    disableAllHooks: z.boolean().optional(),
    hooks: z.record(
      z.string(),
      z.array(z.object({
        matcher: z.string().optional(),
        hooks: z.array(z.object({
          type: z.string(),
          command: z.string().optional(),
          timeout: z.number().positive().optional(),
        })),
      })),
    ).optional(),
  });

/**
 * Reads the hooks of a settings file. Events and kinds of hooks that svc does not have are left out.
 *
 * @throws {Error} when the file, or a hook in it, cannot be read
 */
export function claudeHooks(text: string): ClaudeHook[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("it is not JSON");
  }
  const read = settingsSchema().safeParse(value);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const { hooks = {}, disableAllHooks = false } = read.data;
  if (disableAllHooks) return [];
  const all = Object.entries(hooks).flatMap(([event, groups]) => {
    const known = EVENTS[event];
    if (known === undefined) return [];
    return groups.flatMap(({ matcher, hooks }) =>
      hooks.flatMap(({ type, command, timeout = TIMEOUT_S }): ClaudeHook[] => {
        if (type !== "command" || command === undefined || command.trim() === "") return [];
        const tools = known.on.startsWith("tool.") ? toolsOf(matcher) : undefined;
        const timeout_s = Math.min(timeout, TIMEOUT_MAX_S);
        return [{ ...known, line: command, timeout_s, ...(tools && { tools }) }];
      })
    );
  });
  if (all.length > HOOKS_MAX) throw new Error(`it has more than ${HOOKS_MAX} hooks`);
  return all;
}

/** What of regular expressions matchers are made of; others could take for ever. */
const PLAIN = /^(?:[\w-]|\.\*|\*)*$/;

/**
 * Reads a matcher, such as `Edit|Write` or `mcp__github__.*`. One that is anything else matches
 * every tool: a hook that refuses must not be left out.
 */
function toolsOf(matcher = ""): RegExp[] | undefined {
  const parts = matcher.replace(/^\^?\(?(.*?)\)?\$?$/s, "$1").split("|").map((it) => it.trim());
  if (parts.some((it) => it === "" || it === "*" || it === ".*" || !PLAIN.test(it))) {
    return undefined;
  }
  return parts.map((it) =>
    new RegExp(`^${it.replaceAll(/\.?\*+/g, ".*").replaceAll("__", "_+")}$`)
  );
}
