/**
 * What hooks for Claude Code read and write (https://code.claude.com/docs/en/hooks), for calls and
 * events of svc.
 */
import { isAbsolute, join } from "@std/path";
import * as z from "zod";
import { parsePatch, type PatchStep } from "../../base/edits/patch.ts";
import type { HookEvent } from "./config.ts";
import { CONTEXT_MAX, type HookAnswer, type HookInput, REASON_MAX } from "./messages.ts";

/** A call as a hook for Claude Code knows it. */
export interface ClaudeCall {
  tool_name: string;
  tool_input: Record<string, unknown>;
}

/** Names of arguments there, by their names here. */
const NAMES: Readonly<Record<string, string>> = {
  path: "file_path",
  old_text: "old_string",
  new_text: "new_string",
};

/** Names of tools there. */
const TOOLS: Readonly<Record<string, string>> = {
  agent: "Task",
  edit_file: "Edit",
  fetch_url: "WebFetch",
  glob: "Glob",
  grep: "Grep",
  list_dir: "LS",
  read_file: "Read",
  run_command: "Bash",
  use_skill: "Skill",
  verify: "Bash",
  web_search: "WebSearch",
  write_file: "Write",
};

type Args = Record<string, unknown>;

/** Returns a call as hooks for Claude Code know it; a patch is one call for each file. */
export function claudeCalls(tool: string, args: unknown, workdir: string): ClaudeCall[] {
  const given = (args ?? {}) as Args;
  const at = (path: unknown) =>
    typeof path !== "string" || isAbsolute(path) ? path : join(workdir, path);
  if (tool === "apply_patch") {
    return parsePatch(String(given.patch)).map((step) => patched(step, at));
  }
  const tool_name = TOOLS[tool] ?? tool;
  if (tool === "run_command") {
    const { command, timeout_s, background } = given;
    return [{
      tool_name,
      tool_input: {
        command,
        ...(typeof timeout_s === "number" && { timeout: timeout_s * 1_000 }),
        ...(background === true && { run_in_background: true }),
      },
    }];
  }
  if (tool === "verify") return [{ tool_name, tool_input: { command: given.runs } }];
  // Searches call their directory `path` there, too.
  const named = ["read_file", "write_file", "edit_file"].includes(tool);
  const edits = given.edits as readonly Args[] | undefined;
  const tool_input = Object.fromEntries(
    Object.entries(edits === undefined ? given : { ...given, ...edits[0] })
      .filter(([name, value]) => name !== "edits" && value !== undefined)
      .map(([name, value]) => {
        const told = name === "path" ? at(value) : value;
        return [named ? NAMES[name] ?? name : name, told];
      }),
  );
  if (edits === undefined || edits.length === 1) return [{ tool_name, tool_input }];
  const all = edits.map(({ old_text, new_text, replace_all }) => ({
    old_string: old_text,
    new_string: new_text,
    ...(replace_all === true && { replace_all }),
  }));
  return [{ tool_name: "MultiEdit", tool_input: { file_path: at(given.path), edits: all } }];
}

function patched(step: PatchStep, at: (path: string) => unknown): ClaudeCall {
  const file_path = at(step.path);
  switch (step.kind) {
    case "add":
      return { tool_name: "Write", tool_input: { file_path, content: step.text } };
    case "delete":
      return { tool_name: "Edit", tool_input: { file_path, old_string: "", new_string: "" } };
    case "update": {
      const old_string = step.hunks.map(({ old_text }) => old_text).join("");
      const new_string = step.hunks.map(({ new_text }) => new_text).join("");
      const to = step.move_to === undefined ? {} : { move_to: at(step.move_to) };
      return { tool_name: "Edit", tool_input: { file_path, old_string, new_string, ...to } };
    }
  }
}

/** Names of events there. */
// fold-ok: what hooks for Claude Code are told of an event
const EVENTS = {
  "tool.before": "PreToolUse",
  "tool.after": "PostToolUse",
  "turn.started": "UserPromptSubmit",
  "turn.completed": "Stop",
  "session.created": "SessionStart",
  "question.asked": "Notification",
} as const satisfies Record<HookEvent, string>;

const MODES = {
  auto: "bypassPermissions",
  workspace: "acceptEdits",
  ask: "default",
  read_only: "plan",
} as const;

/** Returns what the program reads on its standard input, an object for each call. */
// fold-ok: what hooks for Claude Code are told of an event
export function claudeInputs(input: HookInput): Record<string, unknown>[] {
  const { event, session_id, workdir: cwd, approval } = input;
  const about = {
    session_id,
    cwd,
    permission_mode: MODES[approval],
    hook_event_name: EVENTS[event],
  };
  switch (input.event) {
    case "tool.before":
    case "tool.after": {
      const response = input.event === "tool.before" ? {} : {
        tool_response: {
          success: input.ok,
          output: input.output,
          ...(input.exit_code !== undefined && { exit_code: input.exit_code }),
        },
      };
      return claudeCalls(input.tool, input.args, cwd)
        .map((call) => ({ ...about, ...call, ...response, tool_use_id: input.call_id }));
    }
    case "turn.started":
      return [{ ...about, prompt: input.prompt }];
    case "turn.completed":
      return [{ ...about, stop_hook_active: false, last_assistant_message: input.message }];
    case "session.created":
      return [{ ...about, source: "startup" }];
    case "question.asked":
      return [{ ...about, notification_type: "permission_prompt", message: input.reason }];
  }
}

/** How the program ended. */
export interface ProgramEnd {
  code: number | null;
  output: string;
  errors: string;
}

/** The code with which a program refuses. */
const BLOCKED = 2;

const specific = () =>
  z.object({
    permissionDecision: z.enum(["allow", "deny", "ask", "defer"]).optional(),
    permissionDecisionReason: z.string().optional(),
    updatedInput: z.record(z.string(), z.unknown()).optional(),
    additionalContext: z.string().optional(),
  });

/** Programs write these at the top as well. */
const answerSchema = () =>
  specific().extend({
    decision: z.enum(["approve", "block"]).optional(),
    reason: z.string().optional(),
    continue: z.boolean().optional(),
    stopReason: z.string().optional(),
    hookSpecificOutput: specific().optional(),
  });

/**
 * Reads how a program answered.
 *
 * @throws {Error} when it failed, or its output is not an answer
 */
export function readClaude(
  event: HookEvent,
  { code, output, errors }: ProgramEnd,
  call: ClaudeCall | undefined,
  workdir: string,
): HookAnswer {
  const text = output.trim();
  const said = errors.trim().slice(0, REASON_MAX);
  const before = event === "tool.before";
  // A decision holds whatever the code is, as it does there.
  const answer = text.startsWith("{") ? parsed(text) : undefined;
  if (answer === undefined && code === BLOCKED) {
    return before ? { decision: "deny", reason: said } : told(said);
  }
  if (answer === undefined || (code !== 0 && !decides(answer))) {
    if (code !== 0) throw new Error(`it exited with ${code}${said === "" ? "" : `: ${said}`}`);
    // There, the plain text of these is for the model, and that of others for a log.
    return event === "turn.started" || event === "session.created" ? told(text) : {};
  }
  const { hookSpecificOutput: own = {}, decision: older } = answer;
  const found = own.permissionDecision ?? answer.permissionDecision;
  const blocks = older === "block" || answer.continue === false;
  const reason = own.permissionDecisionReason ?? answer.permissionDecisionReason ??
    answer.reason ?? answer.stopReason;
  const context = own.additionalContext ?? answer.additionalContext;
  const notes = told(context ?? (!before && blocks ? reason : undefined));
  if (!before) return notes;
  const decision = found === "deny" || blocks
    ? "deny"
    : found === "ask"
    ? found
    : found === "allow" || older === "approve"
    ? "allow"
    : undefined;
  const changed = own.updatedInput ?? answer.updatedInput;
  return {
    ...notes,
    ...(decision && { decision }),
    ...(decision && reason && { reason: reason.slice(0, REASON_MAX) }),
    ...(changed && { args: changedArgs(changed, call, workdir) }),
  };
}

function parsed(text: string): z.output<ReturnType<typeof answerSchema>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("its output is not JSON");
  }
  const read = answerSchema().safeParse(value);
  if (read.success) return read.data;
  throw new Error(`its output is not an answer: ${z.prettifyError(read.error)}`);
}

function decides(answer: z.output<ReturnType<typeof answerSchema>>): boolean {
  const { decision, permissionDecision, hookSpecificOutput, continue: goes_on } = answer;
  return decision === "block" || goes_on === false ||
    [permissionDecision, hookSpecificOutput?.permissionDecision]
      .some((it) => it === "deny" || it === "ask");
}

function told(context: string | undefined): Pick<HookAnswer, "context"> {
  return context === undefined || context === "" ? {} : { context: context.slice(0, CONTEXT_MAX) };
}

/**
 * Returns changed arguments by their names here.
 *
 * @throws {Error} for a call that the program saw in another form
 */
function changedArgs(
  changed: Record<string, unknown>,
  call: ClaudeCall | undefined,
  workdir: string,
): Record<string, unknown> {
  const names = Object.fromEntries(Object.entries(NAMES).map(([here, there]) => [there, here]));
  const { tool_name = "", tool_input = {} } = call ?? {};
  if (call === undefined || tool_name === "MultiEdit") {
    throw new Error("it changes a call with several edits, which svc does not support");
  }
  return Object.fromEntries(
    Object.entries(changed)
      .filter(([name, value]) => JSON.stringify(tool_input[name]) !== JSON.stringify(value))
      // For the person there.
      .filter(([name]) => tool_name !== "Bash" || name !== "description")
      .map(([name, value]) => {
        if (name === "timeout" && typeof value === "number") {
          return ["timeout_s", Math.ceil(value / 1_000)];
        }
        if (name === "run_in_background") return ["background", value];
        const own = typeof value === "string" && value.startsWith(`${workdir}/`)
          ? value.slice(workdir.length + 1)
          : value;
        return [names[name] ?? name, name === "file_path" || name === "path" ? own : value];
      }),
  );
}
