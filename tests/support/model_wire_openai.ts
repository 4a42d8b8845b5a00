/** OpenAI's chat completions. */

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
import { PrefixCache } from "./prefix_cache.ts";

/** OpenAI's chat completions as a {@linkcode Wire}. */
export function openAiWire(): Wire {
  const cache = new PrefixCache();
  return {
    base: "/v1",
    answers: (path) => path === "/v1/chat/completions",
    other: (path) =>
      path === "/v1/models"
        ? { object: "list", data: [{ id: "scripted", object: "model", owned_by: "tests" }] }
        : undefined,
    key: (headers) => /^Bearer (.+)$/.exec(headers.get("authorization") ?? "")?.[1],
    noKey: () => ({
      status: 401,
      body: error("You didn't provide an API key.", "invalid_request_error"),
    }),
    wrongKey: (key) => ({
      status: 401,
      body: error(
        `Incorrect API key provided: ${key}.`,
        "invalid_request_error",
        null,
        "invalid_api_key",
      ),
    }),
    check,
    parse,
    render: (answer, body, instant) => render(answer, body, instant ? undefined : cache),
    failure: ({ type, message, code }) => event(error(message, type, null, code ?? type)),
    status: (code, message = `error ${code}`, type = "server_error") =>
      error(
        message,
        code === 429 && type === "server_error" ? "rate_limit_error" : type,
        null,
        type,
      ),
  };
}

function error(message: string, type: string, param: Json = null, code: Json = null): Json {
  return { error: { message, type, param, code } };
}

function invalid(message: string, param: string): Refusal {
  return { status: 400, body: error(message, "invalid_request_error", param) };
}

function check(body: Json): Refusal | undefined {
  if (typeof body?.model !== "string") {
    return invalid("you must provide a model parameter", "model");
  }
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    return invalid("'messages' must be a non-empty array.", "messages");
  }
  if (body.stream !== true) return invalid("This server only streams.", "stream");
  for (const [index, tool] of (body.tools ?? []).entries()) {
    const name = tool?.function?.name;
    if (tool?.type !== "function" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name ?? "")) {
      return invalid(
        `Invalid 'tools[${index}].function.name': '${name}'.`,
        `tools[${index}].function.name`,
      );
    }
  }
  let open: string[] = [];
  for (const [index, message] of body.messages.entries()) {
    const at = `messages.[${index}]`;
    if (message.role === "tool") {
      if (!open.includes(message.tool_call_id)) {
        return invalid(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding " +
            "message with 'tool_calls'.",
          `${at}.role`,
        );
      }
      open = open.filter((id) => id !== message.tool_call_id);
      if (typeof message.content !== "string") return invalid("expected a string", `${at}.content`);
      continue;
    }
    if (open.length > 0) return unanswered(open, at);
    const refusal = checkMessage(message, at);
    if (refusal !== undefined) return refusal;
    open = (message.tool_calls ?? []).map((call: Json) => call.id);
  }
  return open.length > 0 ? unanswered(open, `messages.[${body.messages.length - 1}]`) : undefined;
}

function unanswered(ids: string[], at: string): Refusal {
  return invalid(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to " +
      `each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids}`,
    `${at}.role`,
  );
}

function checkMessage(message: Json, at: string): Refusal | undefined {
  if (!["system", "developer", "user", "assistant"].includes(message?.role)) {
    return invalid(`Invalid value: '${message?.role}'.`, `${at}.role`);
  }
  for (const [n, part] of (Array.isArray(message.content) ? message.content : []).entries()) {
    const refusal = checkPart(part, `${at}.content[${n}]`);
    if (refusal !== undefined) return refusal;
  }
  const calls = message.tool_calls;
  if (calls !== undefined && (!Array.isArray(calls) || calls.length === 0)) {
    return invalid("[] is too short - 'tool_calls'", `${at}.tool_calls`);
  }
  if (message.content == null && calls === undefined) {
    return invalid("expected a string, got null.", `${at}.content`);
  }
  for (const call of calls ?? []) {
    if (typeof call?.id !== "string" || typeof call.function?.name !== "string") {
      return invalid("Missing required parameter.", `${at}.tool_calls[0].id`);
    }
    if (typeof call.function.arguments !== "string") {
      return invalid("expected a string.", `${at}.tool_calls[0].function.arguments`);
    }
    const extra = Object.keys(call).find((key) => !["id", "type", "function"].includes(key));
    if (extra !== undefined) return invalid(`Unknown parameter: '${extra}'.`, `${at}.tool_calls`);
  }
  return undefined;
}

function checkPart(part: Json, at: string): Refusal | undefined {
  if (part.type === "text") return undefined;
  const types: Record<string, string> = {
    image_url: part.image_url?.url,
    file: part.file?.file_data,
  };
  const url = types[part.type];
  const [, type, data] = /^data:([^;]+);base64,(.+)$/.exec(url ?? "") ?? [];
  const fits = part.type === "file" ? type === "application/pdf" : type?.startsWith("image/");
  if (!fits) return invalid(`Invalid content type: '${part.type}'.`, `${at}.type`);
  if (mediaHead(Uint8Array.fromBase64(data))?.media_type !== type) {
    return invalid("You uploaded an unsupported image. Please make sure it is valid.", at);
  }
  if (part.type === "file" && !part.file.filename) {
    return invalid("Missing required parameter.", `${at}.file.filename`);
  }
  return undefined;
}

function parse(
  body: Json,
): { model: string; system: string; messages: Message[]; tools: string[] } {
  const messages: Message[] = [];
  const names = new Map<string, string>();
  let system = "";
  for (const message of body.messages) {
    const text = typeof message.content === "string"
      ? message.content
      : (message.content ?? []).map((part: Json) => part.text ?? "").join("");
    if (message.role === "system" || message.role === "developer") system += text;
    else if (message.role === "user") {
      const said = saidIn(text);
      if (said !== undefined) messages.push({ role: "user", text: said });
    } else if (message.role === "assistant") {
      const calls = (message.tool_calls ?? []).map((call: Json): ToolCall => {
        names.set(call.id, call.function.name);
        return {
          call_id: call.id,
          tool: call.function.name,
          args: JSON.parse(call.function.arguments || "{}"),
        };
      });
      messages.push({ role: "assistant", text, calls });
    } else {
      const result = {
        call_id: message.tool_call_id,
        tool: names.get(message.tool_call_id) ?? "",
        ok: true,
        output: text,
      };
      const last = messages.at(-1);
      if (last?.role === "tool") last.results.push(result);
      else messages.push({ role: "tool", results: [result] });
    }
  }
  const tools = (body.tools ?? []).map((tool: Json) => tool.function.name);
  return { model: body.model, system, messages, tools };
}

function render(answer: Answer, body: Json, cache: PrefixCache | undefined) {
  const shell = {
    id: `chatcmpl-${crypto.randomUUID()}`,
    object: "chat.completion.chunk",
    created: 1_760_000_000,
    model: body.model,
  };
  const chunk = (delta: Json, finish_reason: string | null = null) =>
    event({ ...shell, choices: [{ index: 0, delta, logprobs: null, finish_reason }] });

  const deltas = (answer.reasoning ?? []).map((text) => chunk({ reasoning_content: text })).concat(
    textDeltas(answer).map((text) =>
      chunk(answer.stop === "refusal" ? { refusal: text } : { content: text })
    ),
  );
  for (const [index, call] of (answer.calls ?? []).entries()) {
    const id = call.id ?? `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
    const begin = { index, id, type: "function", function: { name: call.name, arguments: "" } };
    deltas.push(chunk({ tool_calls: [begin] }));
    for (const piece of shreds(argsText(call))) {
      deltas.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
    }
  }

  const reason = answer.stop ?? (answer.calls?.length ? "calls" : "stop");
  let tail = chunk({}, REASONS[reason]);
  if (body.stream_options?.include_usage === true) {
    tail += event({ ...shell, choices: [], usage: usageOf(answer, body, cache) });
  }
  return {
    head: chunk({ role: "assistant", content: "" }),
    deltas,
    tail: `${tail}data: [DONE]\n\n`,
  };
}

const REASONS = {
  stop: "stop",
  calls: "tool_calls",
  length: "length",
  filter: "content_filter",
  refusal: "stop",
};

/** OpenAI's cache needs no marks: whole messages of a prefix that was seen count as cached. */
function usageOf(answer: Answer, body: Json, cache: PrefixCache | undefined): Json {
  const blocks = [
    JSON.stringify(body.tools ?? []),
    ...body.messages.map((m: Json) => JSON.stringify(m)),
  ];
  const seen = cache?.visit(body.model, blocks, blocks.map((_, index) => index));
  const prompt_tokens = answer.usage?.input ?? tokensOf(blocks.join(""));
  const completion_tokens = answer.usage?.output ??
    tokensOf(textDeltas(answer).join("") + (answer.calls ?? []).map(argsText).join(""));
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: {
      cached_tokens: answer.usage?.cached ?? Math.min(prompt_tokens, seen?.read ?? 0),
    },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function event(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
