/** OpenAI's responses, with reasoning that only the server can read. */

import { mediaHead } from "../../src/base/media.ts";
import type { Message, ToolCall } from "../../src/models/model.ts";
import {
  type Answer,
  argsText,
  type Json,
  type Refusal,
  saidIn,
  shreds,
  textDeltas,
  tokensOf,
  type Wire,
} from "./model_servers.ts";
import { openAiWire } from "./model_wire_openai.ts";
import { PrefixCache } from "./prefix_cache.ts";

/** OpenAI's responses as a {@linkcode Wire}: `POST /v1/responses`. */
export function responsesWire(): Wire {
  const cache = new PrefixCache();
  return {
    ...openAiWire(),
    answers: (path) => path === "/v1/responses",
    check,
    parse,
    render: (answer, body, instant) => render(answer, body, instant ? undefined : cache),
    failure: ({ type, message, code }) =>
      event("error", { code: code ?? type, message, param: null, sequence_number: 900 }),
  };
}

function invalid(message: string, param: string): Refusal {
  const error = { message, type: "invalid_request_error", param, code: null };
  return { status: 400, body: { error } };
}

/** What was sent as reasoning must be what a server of this kind gave out. */
const SEALED = /^sealed:[0-9a-f-]{36}$/;

function check(body: Json): Refusal | undefined {
  if (typeof body?.model !== "string") return invalid("Missing model.", "model");
  if (!Array.isArray(body.input) || body.input.length === 0) {
    return invalid("Missing required parameter: 'input'.", "input");
  }
  if (body.stream !== true) return invalid("This server only streams.", "stream");
  if (body.store !== false) return invalid("This server stores nothing.", "store");
  for (const [index, tool] of (body.tools ?? []).entries()) {
    const at = `tools[${index}].name`;
    if (tool?.type !== "function" || !/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name ?? "")) {
      return invalid(`Invalid '${at}': '${tool?.name}'.`, at);
    }
    // Without it, the real server makes every optional argument required.
    if (tool.strict !== false) return invalid("Invalid schema for function.", at);
  }
  const open = new Set<string>();
  for (const [index, item] of body.input.entries()) {
    const at = `input[${index}]`;
    const follows = body.input[index + 1]?.type ?? body.input[index + 1]?.role;
    switch (item.type ?? "message") {
      case "message": {
        if (!["system", "developer", "user", "assistant"].includes(item.role)) {
          return invalid(`Invalid value: '${item.role}'.`, `${at}.role`);
        }
        const empty = typeof item.content === "string"
          ? item.content === ""
          : !Array.isArray(item.content) || item.content.length === 0;
        if (empty) return invalid("expected content", `${at}.content`);
        const refusal = checkParts(item.content, `${at}.content`);
        if (refusal !== undefined) return refusal;
        break;
      }
      case "function_call":
        if (typeof item.call_id !== "string" || typeof item.arguments !== "string") {
          return invalid("Missing required parameter.", `${at}.call_id`);
        }
        open.add(item.call_id);
        break;
      case "function_call_output": {
        if (!open.delete(item.call_id)) {
          return invalid(
            `No tool call found for function call output with call_id ${item.call_id}.`,
            at,
          );
        }
        if (typeof item.output !== "string" && !Array.isArray(item.output)) {
          return invalid("expected a string or an array", `${at}.output`);
        }
        const refusal = checkParts(item.output, `${at}.output`);
        if (refusal !== undefined) return refusal;
        break;
      }
      case "reasoning":
        if (!SEALED.test(item.encrypted_content ?? "") || !Array.isArray(item.summary)) {
          return invalid("The encrypted content could not be verified.", at);
        }
        if (follows === undefined || follows === "user" || follows === "function_call_output") {
          return invalid(
            `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
            at,
          );
        }
        break;
      default:
        return invalid(`Invalid value: '${item.type}'.`, `${at}.type`);
    }
  }
  const [unanswered] = open;
  return unanswered === undefined
    ? undefined
    : invalid(`No tool output found for function call ${unanswered}.`, "input");
}

/** Text, images and files of a message or an output. */
function checkParts(content: Json, at: string): Refusal | undefined {
  for (const part of Array.isArray(content) ? content : []) {
    if (part.type === "input_text" || part.type === "output_text") continue;
    const url = part.type === "input_image" ? part.image_url : part.file_data;
    const [, type, data] = /^data:([^;]+);base64,(.+)$/.exec(url ?? "") ?? [];
    const fits = part.type === "input_image"
      ? type?.startsWith("image/")
      : part.type === "input_file" && type === "application/pdf" && part.filename;
    if (!fits) return invalid(`Invalid value: '${part.type}'.`, at);
    if (mediaHead(Uint8Array.fromBase64(data))?.media_type !== type) {
      return invalid("The image data you provided does not represent a valid image.", at);
    }
  }
  return undefined;
}

function parse(
  body: Json,
): { model: string; system: string; messages: Message[]; tools: string[] } {
  const messages: Message[] = [];
  const names = new Map<string, string>();
  let system = "";
  const assistant = () => {
    const last = messages.at(-1);
    if (last?.role === "assistant") return last;
    const made = { role: "assistant" as const, text: "", calls: [] as ToolCall[] };
    messages.push(made);
    return made;
  };
  for (const item of body.input) {
    if (item.type === "function_call") {
      names.set(item.call_id, item.name);
      const args = JSON.parse(item.arguments || "{}");
      assistant().calls.push({ call_id: item.call_id, tool: item.name, args });
    } else if (item.type === "function_call_output") {
      const { call_id } = item;
      const output = typeof item.output === "string"
        ? item.output
        : item.output.map((part: Json) => part.text ?? "").join("");
      const result = { call_id, tool: names.get(call_id) ?? "", ok: true, output };
      const last = messages.at(-1);
      if (last?.role === "tool") last.results.push(result);
      else messages.push({ role: "tool", results: [result] });
    } else if (item.type !== "reasoning") {
      const text = typeof item.content === "string"
        ? item.content
        : item.content.map((part: Json) => part.text ?? "").join("");
      if (item.role === "assistant") assistant().text += text;
      else if (item.role !== "user") system += text;
      else {
        const said = saidIn(text);
        if (said !== undefined) messages.push({ role: "user", text: said });
      }
    }
  }
  return {
    model: body.model,
    system,
    messages,
    tools: (body.tools ?? []).map((it: Json) => it.name),
  };
}

function render(answer: Answer, body: Json, cache: PrefixCache | undefined) {
  const id = (prefix: string) => `${prefix}_${crypto.randomUUID().replaceAll("-", "")}`;
  const shell = {
    id: id("resp"),
    object: "response",
    created_at: 1_760_000_000,
    model: body.model,
  };
  let output_index = -1;
  /** An item of the output: how it begins, its deltas and how it ends. */
  const item = (begun: Json, done: Json, deltas: (common: Json) => string[]): string[] => {
    const at = { output_index: ++output_index, item_id: begun.id };
    const events = deltas(at);
    const added = event("response.output_item.added", { output_index, item: begun });
    const ended = event("response.output_item.done", { output_index, item: { ...begun, ...done } });
    return [added, ...events, ended];
  };

  const deltas: string[] = [];
  for (const text of answer.reasoning ?? []) {
    const begun = { type: "reasoning", id: id("rs"), summary: [], encrypted_content: "" };
    const encrypted_content = `sealed:${crypto.randomUUID()}`;
    const summary = [{ type: "summary_text", text }];
    deltas.push(...item(begun, { summary, encrypted_content }, (at) => [
      event("response.reasoning_summary_part.added", {
        ...at,
        summary_index: 0,
        part: { type: "summary_text", text: "" },
      }),
      event("response.reasoning_summary_text.delta", { ...at, summary_index: 0, delta: text }),
      event("response.reasoning_summary_part.done", {
        ...at,
        summary_index: 0,
        part: summary[0],
      }),
    ]));
  }
  const pieces = textDeltas(answer);
  if (pieces.length > 0) {
    const refused = answer.stop === "refusal";
    const type = refused ? "response.refusal.delta" : "response.output_text.delta";
    const begun = { type: "message", id: id("msg"), role: "assistant", status: "in_progress" };
    const events = item(
      { ...begun, content: [] },
      { status: "completed" },
      (at) => pieces.map((delta) => event(type, { ...at, content_index: 0, delta, logprobs: [] })),
    );
    // A test counts deltas of text alone.
    events.splice(0, 2, events[0] + events[1]);
    events.splice(-2, 2, events.at(-2)! + (events.length > 1 ? events.at(-1)! : ""));
    deltas.push(...events);
  }
  for (const call of answer.calls ?? []) {
    const begun = {
      type: "function_call",
      id: id("fc"),
      call_id: call.id ?? id("call").slice(0, 29),
      name: call.name,
      arguments: "",
      status: "in_progress",
    };
    const done = { arguments: argsText(call), status: "completed" };
    deltas.push(
      ...item(
        begun,
        done,
        (at) =>
          shreds(argsText(call)).map((delta) =>
            event("response.function_call_arguments.delta", { ...at, delta })
          ),
      ),
    );
  }

  const reason = { length: "max_output_tokens", filter: "content_filter" }[answer.stop as string];
  const type = reason === undefined ? "response.completed" : "response.incomplete";
  const incomplete_details = reason === undefined ? null : { reason };
  const usage = usageOf(answer, body, cache);
  const response = { ...shell, status: type.slice("response.".length), incomplete_details, usage };
  return {
    head: event("response.created", { response: { ...shell, status: "in_progress" } }) +
      event("response.in_progress", { response: { ...shell, status: "in_progress" } }),
    deltas,
    tail: event(type, { response }),
  };
}

function usageOf(answer: Answer, body: Json, cache: PrefixCache | undefined): Json {
  const blocks = [body.tools ?? [], ...body.input].map((part: Json) => JSON.stringify(part));
  const seen = cache?.visit(body.model, blocks, blocks.map((_, index) => index));
  const input_tokens = answer.usage?.input ?? tokensOf(blocks.join(""));
  const output_tokens = answer.usage?.output ??
    tokensOf(textDeltas(answer).join("") + (answer.calls ?? []).map(argsText).join(""));
  return {
    input_tokens,
    input_tokens_details: {
      cached_tokens: answer.usage?.cached ?? Math.min(input_tokens, seen?.read ?? 0),
    },
    output_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output_tokens,
  };
}

let sequence_number = 0;

function event(type: string, data: Json): string {
  const whole = { type, sequence_number: sequence_number++, ...data };
  return `event: ${type}\ndata: ${JSON.stringify(whole)}\n\n`;
}
