/** Converts a session's events to ACP updates. */
import { changesOf, type FileChange, hasAllChanges, staysSame } from "../base/edits/changes.ts";
import type {
  ContentBlock,
  SessionUpdate,
  StopReason,
  ToolCallContent,
  ToolKind,
} from "@agentclientprotocol/sdk";
import { fromFileUrl, join } from "@std/path";
import type { PlanStep } from "../protocol/plan_text.ts";
import type { ToolOutcome } from "../session/view.ts";
import { visible, visibleLine } from "../base/visible.ts";
import { callLine } from "../base/call_line.ts";

const KINDS: Readonly<Record<string, ToolKind>> = {
  apply_patch: "edit",
  edit_file: "edit",
  fetch_url: "fetch",
  glob: "search",
  grep: "search",
  list_dir: "read",
  read_file: "read",
  recall: "search",
  run_command: "execute",
  verify: "execute",
  write_file: "edit",
};

const PLAN_STATUS = { pending: "pending", doing: "in_progress", done: "completed" } as const;

export interface Call {
  call_id: string;
  tool: string;
  args: unknown;
  workdir: string;
  /** The file's old content, for a call that writes one. */
  before?: string;
  /** Whether the editor knows that it has ended. */
  ended?: boolean;
}

/** Returns the answer of `session/prompt`; undefined for a failed turn. */
export function stopReason(stop_reason: string): StopReason | undefined {
  const reasons: Record<string, StopReason> = {
    ok: "end_turn",
    cancelled: "cancelled",
    budget: "max_turn_requests",
    critic: "refusal",
    filtered: "refusal",
    refused: "refusal",
    length: "max_tokens",
  };
  return reasons[stop_reason];
}

/** @param before the text that it continues */
export function said(role: "user" | "agent", text: string, before?: string): SessionUpdate {
  const shown = visible(text, { before });
  return { sessionUpdate: `${role}_message_chunk`, content: { type: "text", text: shown } };
}

export function thought(text: string): SessionUpdate {
  return { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: visible(text) } };
}

export function planned(steps: readonly PlanStep[]): SessionUpdate {
  return {
    sessionUpdate: "plan",
    entries: steps.map(({ step, state }) => ({
      content: visibleLine(step),
      priority: "medium",
      status: PLAN_STATUS[state],
    })),
  };
}

export function callStarted(call: Call): SessionUpdate {
  return {
    sessionUpdate: "tool_call",
    toolCallId: call.call_id,
    title: visibleLine(callLine(call.tool, call.args)),
    kind: KINDS[call.tool] ?? "other",
    status: "in_progress",
    content: diffOf(call),
    locations: locationsOf(call),
    rawInput: call.args,
  };
}

/** For a call that counted as ended and continues. */
export function callGoesOn({ call_id }: Call): SessionUpdate {
  return { sessionUpdate: "tool_call_update", toolCallId: call_id, status: "in_progress" };
}

export function callEnded(
  call: Call,
  { ok, output, changes }: Pick<ToolOutcome, "ok" | "output" | "changes">,
  images: readonly ToolCallContent[] = [],
): SessionUpdate {
  const diff = ok ? diffOf(call, changes) : [];
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: call.call_id,
    status: ok ? "completed" : "failed",
    content: diff.length > 0 ? diff : [textContent(fenced(visible(output))), ...images],
    rawOutput: output,
  };
}

/** Returns the file that a call is about, if any. */
export function fileOf({ args, workdir }: Call): string | undefined {
  const { path } = (args ?? {}) as { path?: unknown };
  return typeof path === "string" ? join(workdir, path) : undefined;
}

/**
 * Returns the changes of a call, if any: of each part of a file that differs, or as the arguments say.
 *
 * @param recorded the changes in its result, if it has some
 */
export function diffOf(call: Call, recorded?: readonly FileChange[]): ToolCallContent[] {
  const asked = changesOf(call.tool, call.args);
  // The whole file, as the question showed it, or all of what is written instead of a part.
  const whole = call.before !== undefined || recorded === undefined || !hasAllChanges(recorded);
  const changes = whole ? asked : recorded.filter((it) => !staysSame(it));
  return changes.map(({ path, before, after }) => ({
    type: "diff",
    path: join(call.workdir, named(path, asked)),
    oldText: before ?? call.before ?? null,
    newText: after,
  }));
}

/** The path of a file now: a record says of a moved file also where it was. */
function named(path: string, asked: readonly FileChange[]): string {
  return asked.find((it) => path.endsWith(` → ${it.path}`))?.path ?? path;
}

function locationsOf(call: Call): { path: string }[] {
  const path = fileOf(call);
  return path === undefined ? [] : [{ path }];
}

export function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

/** Fences output as Markdown, whatever backticks it contains. */
export function fenced(output: string): string {
  const longest = Math.max(2, ...[...output.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${output}\n${fence}`;
}

/** The parameters of `session.send`. */
export interface Prompt {
  text: string;
  attachments: { data: string; name?: string }[];
}

/**
 * Converts a prompt: links become paths, embedded text is included, images and documents are
 * attached.
 */
export function promptOf(blocks: readonly ContentBlock[]): Prompt {
  const attachments: Prompt["attachments"] = [];
  const text = blocks.map((block) => {
    if (block.type === "text") return block.text;
    if (block.type === "resource_link") return `@${pathOf(block.uri)}`;
    if (block.type === "image") {
      attachments.push({ data: block.data, name: block.uri ? pathOf(block.uri) : undefined });
      return "";
    }
    if (block.type !== "resource") {
      throw new TypeError(`a prompt can have text, images and resources, but not ${block.type}`);
    }
    const { resource } = block;
    const path = pathOf(resource.uri);
    if ("text" in resource) return `\n${path}:\n${fenced(resource.text)}\n`;
    attachments.push({ data: resource.blob, name: path });
    return "";
  }).join("");
  return { text: text.trim() === "" && attachments.length > 0 ? "(attached)" : text, attachments };
}

function pathOf(uri: string): string {
  return uri.startsWith("file:") ? fromFileUrl(uri) : uri;
}
