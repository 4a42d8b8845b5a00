/**
 * `builtin/toolbelt`, the embedded default (contract.md section 8): no key, no network,
 * deterministic. It runs a line-by-line instruction language with the same tools, approvals and
 * journal as any model.
 */
import { CATEGORIES } from "../protocol/memory.ts";
import type { Message, Model, ModelPart, ModelRequest, ToolCall, ToolResult } from "./model.ts";

/** How to get a model. */
const ADVICE = `\
To use a model, save its API key with \`svc login\`, or add [models.<name>] to daemon.toml.
\`svc models\` lists the models, and \`svc chat -m <provider>/<model>\` selects one.`;

/** The answer to `help` and to unknown instructions. */
export const HELP =
  `This is builtin/toolbelt. It is not a model: it runs instructions, one per line:

    ls [PATH]               list a directory
    read PATH               read a file
    grep PATTERN [PATH]     search for a regular expression
    glob PATTERN            find files, such as src/**/*.ts
    write PATH "TEXT"       write a file; \\n in the text starts a new line
    write PATH              the same, with the text below, between two lines of \`\`\`
    edit PATH "OLD" "NEW"   replace text; both can also follow between \`\`\` lines
    run COMMAND             run a shell command
    verify test             run the project's tests; also: verify build, verify lint
    fetch URL               fetch a web page
    remember [CATEGORY:] TEXT
                            save it for later sessions; categories: fact (the default),
                            ${CATEGORIES.filter((it) => it !== "fact").join(", ")}
    recall WORDS            search the memory
    help                    show this help

${ADVICE}`;

/** Changes the commands in the advice about other models, and no other text. */
export function withNames(text: string, named: (advice: string) => string): string {
  return text.replace(ADVICE, () => named(ADVICE));
}

const FENCE = /^\s*```/;
const STRING = String.raw`\s+("(?:[^"\\]|\\.)*")`;
/** A path, followed by JSON strings. */
const PATH_AND_TEXT = new RegExp(`^(\\S+)${STRING}$`);
const PATH_AND_TEXTS = new RegExp(`^(\\S+)${STRING}${STRING}$`);
/** An optional category, and the text to remember. */
const REMEMBERED = new RegExp(`^(?:(${CATEGORIES.join("|")}):\\s*)?(.*)$`);

/** An instruction in a message. */
export type Instruction =
  | { tool: string; args: Record<string, unknown> }
  | { help: true }
  | { problem: string };

/**
 * Reads the instructions of a message, without blank lines and lines that start with `#`.
 *
 * @returns a `problem` names an unknown line
 */
export function parseInstructions(text: string): Instruction[] {
  const lines = text.split(/\r?\n/);
  const out: Instruction[] = [];
  let at = 0;
  const block = (): string | undefined => {
    while (at < lines.length && lines[at].trim() === "") at++;
    if (at >= lines.length || !FENCE.test(lines[at])) return undefined;
    const start = ++at;
    while (at < lines.length && !FENCE.test(lines[at])) at++;
    if (at >= lines.length) return undefined;
    return lines.slice(start, at++).map((line) => `${line}\n`).join("");
  };
  while (at < lines.length) {
    const number = at + 1;
    const line = lines[at++].trim();
    if (line === "" || line.startsWith("#")) continue;
    const [, verb, rest] = line.match(/^(\S+)\s*(.*)$/)!;
    out.push(
      instruction(verb, rest, block) ?? { problem: `line ${number} is not understood: ${line}` },
    );
  }
  return out;
}

function instruction(
  verb: string,
  rest: string,
  block: () => string | undefined,
): Instruction | undefined {
  if (verb === "help" && rest === "") return { help: true };
  if (verb === "ls") return { tool: "list_dir", args: rest === "" ? {} : { path: rest } };
  if (rest === "") return undefined;
  switch (verb) {
    case "read":
      return { tool: "read_file", args: { path: rest } };
    case "glob":
      return { tool: "glob", args: { pattern: rest } };
    case "grep": {
      const [, pattern, path] = rest.match(/^("(?:[^"\\]|\\.)*"|\S+)\s*(.*)$/)!;
      const plain = pattern.startsWith('"') ? pattern.slice(1, -1).replaceAll('\\"', '"') : pattern;
      return { tool: "grep", args: path === "" ? { pattern: plain } : { pattern: plain, path } };
    }
    case "run":
      return { tool: "run_command", args: { command: rest } };
    case "verify":
      return { tool: "verify", args: { what: rest } };
    case "fetch":
      return { tool: "fetch_url", args: { url: rest } };
    case "remember": {
      const [, category, content] = rest.match(REMEMBERED)!;
      return { tool: "remember", args: { category: category ?? "fact", content } };
    }
    case "recall":
      return { tool: "recall", args: { query: rest } };
    case "write": {
      const { path, texts } = quoted(rest, PATH_AND_TEXT);
      if (texts !== undefined) return { tool: "write_file", args: { path, content: texts[0] } };
      const content = block();
      if (content === undefined) return { problem: `write ${rest}: its text is missing` };
      return { tool: "write_file", args: { path: rest, content } };
    }
    case "edit": {
      const { path, texts } = quoted(rest, PATH_AND_TEXTS);
      if (texts !== undefined) {
        return { tool: "edit_file", args: { path, old_text: texts[0], new_text: texts[1] } };
      }
      const old_text = block();
      const new_text = block();
      if (old_text === undefined || new_text === undefined) {
        return { problem: `edit ${rest}: the old or the new text is missing` };
      }
      return { tool: "edit_file", args: { path: rest, old_text, new_text } };
    }
  }
  return undefined;
}

/** Splits a path from the JSON strings after it, if there are any. */
function quoted(rest: string, form: RegExp): { path: string; texts?: string[] } {
  const match = rest.match(form);
  if (match === null) return { path: rest };
  const [, path, ...texts] = match;
  try {
    return { path, texts: texts.map((text) => JSON.parse(text)) };
  } catch {
    return { path: rest };
  }
}

/** Creates the embedded model. @param newCallId returns a new id for each call */
export function toolbelt(newCallId: () => string): Model {
  return {
    id: "builtin/toolbelt",
    async *stream({ messages, signal }: ModelRequest): AsyncGenerator<ModelPart> {
      signal.throwIfAborted();
      const tail = messages.slice(messages.findLastIndex((it) => it.role === "assistant") + 1);
      const asked = messages.findLast((it) => it.role === "assistant");
      const texts: string[] = [];
      const calls: ToolCall[] = [];
      for (const message of tail) {
        if (message.role === "tool") texts.push(report(message.results, callsOf(asked)));
        else if (message.role === "user") follow(message.text, texts, calls, newCallId);
      }
      const text = texts.filter((it) => it !== "").join("\n");
      if (text !== "") yield { type: "text", text };
      for (const call of calls) yield { type: "call", call };
      yield {
        type: "finish",
        usage: { tokens_in: 0, tokens_out: 0, tokens_cached: 0, tokens_cache_write: 0 },
        reason: calls.length > 0 ? "calls" : "stop",
      };
    },
  };
}

function follow(text: string, texts: string[], calls: ToolCall[], newCallId: () => string): void {
  const instructions = parseInstructions(text);
  const problems = instructions.flatMap((it) => "problem" in it ? [it.problem] : []);
  if (problems.length > 0) {
    // A message is run only if every line of it is understood.
    texts.push([...problems, "", HELP].join("\n"));
    return;
  }
  if (instructions.length === 0 || instructions.some((it) => "help" in it)) texts.push(HELP);
  for (const it of instructions) {
    if ("tool" in it) calls.push({ call_id: newCallId(), tool: it.tool, args: it.args });
  }
}

function callsOf(message: Message | undefined): readonly ToolCall[] {
  return message?.role === "assistant" ? message.calls : [];
}

function report(results: readonly ToolResult[], calls: readonly ToolCall[]): string {
  const byId = new Map(results.map((result) => [result.call_id, result]));
  return calls.map((call) => {
    const result = byId.get(call.call_id);
    const output = result?.output.trimEnd() || "(no output)";
    const body = result?.ok ? output : `failed: ${output}`;
    return calls.length === 1 ? body : `${title(call)}\n${body}\n`;
  }).join("\n");
}

function title(call: ToolCall): string {
  const { path, pattern, command, url, content, query, what } = call.args as Record<string, string>;
  return `› ${call.tool} ${command ?? pattern ?? url ?? path ?? query ?? content ?? what ?? "."}`;
}
