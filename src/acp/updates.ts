/** What happens in a session, in the words of the Agent Client Protocol. */
import { changesOf } from "../base/edits/changes.ts";
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

/** A call of a tool, as far as it is known. */
export interface Call {
  call_id: string;
  tool: string;
  args: unknown;
  workdir: string;
  /** What stood in the file before, of a call that writes one. */
  before?: string;
  /** The editor was told that it has ended. */
  ended?: boolean;
}

/** How a turn ended, as `session/prompt` answers; undefined for one that failed. */
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

/** What a person said, or an agent. @param before what it goes on with. */
export function said(role: "user" | "agent", text: string, before?: string): SessionUpdate {
  const shown = visible(text, { before });
  return { sessionUpdate: `${role}_message_chunk`, content: { type: "text", text: shown } };
}

/** A piece of what the model thought before its answer. */
export function thought(text: string): SessionUpdate {
  return { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: visible(text) } };
}

/** A plan as it stands. */
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

/** A call that begins. */
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

/** A call that goes on with its turn, after it had counted as ended. */
export function callGoesOn({ call_id }: Call): SessionUpdate {
  return { sessionUpdate: "tool_call_update", toolCallId: call_id, status: "in_progress" };
}

/** A call that has ended. */
export function callEnded(
  call: Call,
  { ok, output }: Pick<ToolOutcome, "ok" | "output">,
  images: readonly ToolCallContent[] = [],
): SessionUpdate {
  const diff = ok ? diffOf(call) : [];
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: call.call_id,
    status: ok ? "completed" : "failed",
    content: diff.length > 0 ? diff : [textContent(fenced(visible(output))), ...images],
    rawOutput: output,
  };
}

/** The file that a call is about, if it is about one. */
export function fileOf({ args, workdir }: Call): string | undefined {
  const { path } = (args ?? {}) as { path?: unknown };
  return typeof path === "string" ? join(workdir, path) : undefined;
}

/** What a call changes in its file; nothing for one that changes none. */
export function diffOf(call: Call): ToolCallContent[] {
  return changesOf(call.tool, call.args).map(({ path, before, after }) => ({
    type: "diff",
    path: join(call.workdir, path),
    oldText: before ?? call.before ?? null,
    newText: after,
  }));
}

function locationsOf(call: Call): { path: string }[] {
  const path = fileOf(call);
  return path === undefined ? [] : [{ path }];
}

/** Text beside a call. */
export function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

/** Output as a block of Markdown, whatever backticks are in it. */
export function fenced(output: string): string {
  const longest = Math.max(2, ...[...output.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${output}\n${fence}`;
}

/** A message as `session.send` takes it. */
export interface Prompt {
  text: string;
  attachments: { data: string; name?: string }[];
}

/**
 * A prompt as one message: files that are mentioned by their paths, text that is embedded in full,
 * images and documents as attachments.
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
