/** Anthropic's messages. */

import { mediaHead } from "../../src/base/media.ts";
import type { Message } from "../../src/models/model.ts";
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
import { type CacheUse, PrefixCache } from "./prefix_cache.ts";

/** Anthropic's messages as a {@linkcode Wire}, with a cache of its own. */
export function anthropicWire(): Wire {
  const cache = new PrefixCache();
  return {
    base: "/v1",
    answers: (path) => path === "/v1/messages",
    key: (headers) =>
      headers.get("x-api-key") ??
        /^Bearer (.+)$/.exec(headers.get("authorization") ?? "")?.[1],
    noKey: () => refuse(401, "authentication_error", "x-api-key header is required"),
    wrongKey: () => refuse(401, "authentication_error", "invalid x-api-key"),
    check,
    parse,
    render: (answer, body, instant) => render(answer, body, instant ? undefined : cache),
    failure: ({ type, message }) =>
      event("error", { type: "error", error: { type, message }, request_id: "req_scripted" }),
    status: (code, message = `error ${code}`, type = TYPES[code] ?? "api_error") =>
      refuse(code, type, message).body,
  };
}

const TYPES: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};

function refuse(status: number, type: string, message: string): Refusal {
  return {
    status,
    body: { type: "error", error: { type, message }, request_id: "req_scripted" },
  };
}

function invalid(message: string): Refusal {
  return refuse(400, "invalid_request_error", message);
}

function check(body: Json, headers: Headers): Refusal | undefined {
  if (!headers.has("anthropic-version")) return invalid("anthropic-version: header is required");
  for (const field of ["model", "max_tokens", "messages"]) {
    if (body?.[field] === undefined) return invalid(`${field}: Field required`);
  }
  if (body.stream !== true) return invalid("stream: this server only streams");
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    return invalid("messages: at least one message is required");
  }
  for (const [index, tool] of (body.tools ?? []).entries()) {
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(tool?.name ?? "")) {
      return invalid(`tools.${index}.custom.name: String should match pattern`);
    }
    if (tool.input_schema?.type !== "object") {
      return invalid(`tools.${index}.custom.input_schema.type: Field required`);
    }
  }
  return checkMarks(body) ?? checkConversation(body.messages) ?? checkThinking(body);
}

function checkMarks(body: Json): Refusal | undefined {
  const marked = blocksOf(body).filter((block) => block.marked);
  if (marked.length > 4) {
    return invalid(
      `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`,
    );
  }
  return undefined;
}

function checkConversation(messages: Json[]): Refusal | undefined {
  let open: string[] = [];
  let before: string | undefined;
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    if (role !== "user" && role !== "assistant") {
      return invalid(`messages.${index}.role: Input should be 'user' or 'assistant'`);
    }
    if (before === undefined && role !== "user") {
      return invalid('messages: first message must use the "user" role');
    }
    if (before === role) {
      return invalid(
        'messages: roles must alternate between "user" and "assistant", but found multiple ' +
          `"${role}" roles in a row`,
      );
    }
    before = role;
    const blocks = contentOf(message);
    if (blocks.length === 0) return invalid(`messages.${index}: content must be non-empty`);
    const results = blocks.filter((block) => block.type === "tool_result");
    const stray = results.find((block) => !open.includes(block.tool_use_id));
    if (stray !== undefined) {
      return invalid(
        `messages.${index}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` ` +
          `blocks: ${stray.tool_use_id}. Each \`tool_result\` block must have a corresponding ` +
          "`tool_use` block in the previous message.",
      );
    }
    const missing = open.filter((id) => !results.some((block) => block.tool_use_id === id));
    if (missing.length > 0) return unanswered(index - 1, missing);
    open = [];
    for (const [at, block] of blocks.entries()) {
      const refusal = checkBlock(block, role, `messages.${index}.content.${at}`);
      if (refusal !== undefined) return refusal;
      if (block.type === "tool_use") open.push(block.id);
    }
  }
  if (open.length > 0) return unanswered(messages.length - 1, open);
  const last = contentOf(messages.at(-1)).at(-1);
  if (before === "assistant" && last?.type === "text" && last.text !== last.text.trimEnd()) {
    return invalid("messages: final assistant content cannot end with trailing whitespace");
  }
  return undefined;
}

/** Whether a request has the model think. */
const thinks = ({ thinking }: Json) => thinking !== undefined && thinking.type !== "disabled";

/** While a model that thinks waits for results, its thoughts before the calls must be there. */
function checkThinking(body: Json): Refusal | undefined {
  const at = body.messages.findLastIndex(({ role }: Json) => role === "assistant");
  const last = body.messages[at];
  const waits = contentOf(last ?? {}).some(({ type }) => type === "tool_use") &&
    contentOf(body.messages.at(-1)).some(({ type }) => type === "tool_result");
  if (!thinks(body) || !waits) return undefined;
  const [first] = contentOf(last);
  return first?.type === "thinking" || first?.type === "redacted_thinking" ? undefined : invalid(
    `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
      `\`${first?.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must ` +
      "start with a thinking block.",
  );
}

function unanswered(index: number, ids: string[]): Refusal {
  return invalid(
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately ` +
      `after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding ` +
      "`tool_result` block in the next message.",
  );
}

function checkBlock(block: Json, role: string, at: string): Refusal | undefined {
  switch (block.type) {
    case "text":
      if (typeof block.text !== "string" || block.text === "") {
        return invalid("messages: text content blocks must be non-empty");
      }
      return block.text.trim() === ""
        ? invalid("messages: text content blocks must contain non-whitespace text")
        : undefined;
    case "thinking":
      return role === "assistant" && block.signature === signatureOf(block.thinking)
        ? undefined
        : invalid(`${at}: Invalid \`signature\` in \`thinking\` block`);
    case "tool_use":
      if (role !== "assistant") {
        return invalid(`${at}: \`tool_use\` blocks can only be in "assistant" messages`);
      }
      if (!/^[a-zA-Z0-9_-]+$/.test(block.id ?? "")) {
        return invalid(`${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
      }
      if (typeof block.input !== "object" || block.input === null || Array.isArray(block.input)) {
        return invalid(`${at}.tool_use.input: Input should be a valid dictionary`);
      }
      return undefined;
    case "tool_result": {
      if (role !== "user") {
        return invalid(`${at}: \`tool_result\` blocks can only be in "user" messages`);
      }
      const parts = Array.isArray(block.content) ? block.content : [];
      return parts.map((part: Json, n: number) => checkBlock(part, role, `${at}.content.${n}`))
        .find((refusal: Refusal | undefined) => refusal !== undefined);
    }
    case "image":
    case "document": {
      const { type, media_type, data } = block.source ?? {};
      const types = block.type === "document"
        ? ["application/pdf"]
        : ["image/png", "image/jpeg", "image/gif", "image/webp"];
      if (type !== "base64" || !types.includes(media_type)) {
        return invalid(`${at}.${block.type}.source.base64.media_type: Input should be ${types}`);
      }
      const media = mediaHead(Uint8Array.fromBase64(data));
      if (media?.media_type !== media_type) {
        return invalid(`${at}.${block.type}.source.base64.data: Could not process ${block.type}`);
      }
      if (block.type === "image" && data.length > 5_242_880) {
        return invalid(
          `${at}.image.source.base64: image exceeds 5 MB maximum: ${data.length} bytes > 5242880 bytes`,
        );
      }
      return undefined;
    }
    default:
      return invalid(`${at}: Input tag '${block.type}' is not expected`);
  }
}

/** Only the server knows how it signs. */
function signatureOf(thinking: string): string {
  return `signed:${tokensOf(thinking)}:${thinking.length}`;
}

function contentOf(message: Json): Json[] {
  return typeof message.content === "string"
    ? [{ type: "text", text: message.content }]
    : message.content ?? [];
}

function parse(
  body: Json,
): { model: string; system: string; messages: Message[]; tools: string[] } {
  const messages: Message[] = [];
  const names = new Map<string, string>();
  for (const message of body.messages) {
    const blocks = contentOf(message);
    const text = blocks.filter((block) => block.type === "text").map((block) => block.text).join(
      "",
    );
    if (message.role === "assistant") {
      const calls = blocks.filter((block) => block.type === "tool_use").map((block) => {
        names.set(block.id, block.name);
        return { call_id: block.id, tool: block.name, args: block.input };
      });
      messages.push({ role: "assistant", text, calls });
      continue;
    }
    const results = blocks.filter((block) => block.type === "tool_result").map((block) => ({
      call_id: block.tool_use_id,
      tool: names.get(block.tool_use_id) ?? "",
      ok: block.is_error !== true,
      output: typeof block.content === "string"
        ? block.content
        : (block.content ?? []).map((part: Json) => part.text ?? "").join(""),
    }));
    if (results.length > 0) messages.push({ role: "tool", results });
    // The package joins messages of one role into blocks of one message.
    const said = blocks.flatMap((block) => block.type === "text" ? saidIn(block.text) ?? [] : [])
      .join("");
    if (said) messages.push({ role: "user", text: said });
  }
  return {
    model: body.model,
    system: systemOf(body).map((block) => block.text).join("\n"),
    messages,
    tools: (body.tools ?? []).map((tool: Json) => tool.name),
  };
}

function systemOf(body: Json): Json[] {
  if (body.system === undefined) return [];
  return typeof body.system === "string" ? [{ type: "text", text: body.system }] : body.system;
}

/** The request in the order that the cache hashes: tools, system, messages. */
function blocksOf(body: Json): { bytes: string; marked: boolean }[] {
  const block = (part: Json, role = "") => {
    const { cache_control, ...rest } = part;
    return { bytes: role + JSON.stringify(rest), marked: cache_control != null };
  };
  return [
    ...(body.tools ?? []).map((tool: Json) => block(tool)),
    ...systemOf(body).map((part) => block(part)),
    ...body.messages.flatMap((message: Json) =>
      contentOf(message).map((part) => block(part, message.role))
    ),
  ];
}

function render(answer: Answer, body: Json, cache: PrefixCache | undefined) {
  const blocks = cache === undefined ? [] : blocksOf(body);
  const marks = blocks.flatMap((block, index) => block.marked ? [index] : []);
  const use = cache?.visit(body.model, blocks.map((block) => block.bytes), marks);

  const start = {
    id: `msg_${crypto.randomUUID().replaceAll("-", "")}`,
    type: "message",
    role: "assistant",
    model: body.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...inputUsage(answer, use), output_tokens: 1 },
  };
  const head = event("message_start", { type: "message_start", message: start }) +
    event("ping", { type: "ping" });

  const deltas: string[] = [];
  let index = 0;
  const add = (content_block: Json, pieces: Json[]) => {
    const begin = event("content_block_start", {
      type: "content_block_start",
      index,
      content_block,
    });
    const end = event("content_block_stop", { type: "content_block_stop", index });
    const events = pieces.map((delta) =>
      event("content_block_delta", { type: "content_block_delta", index, delta })
    );
    events[0] = begin + events[0];
    events[events.length - 1] += end;
    deltas.push(...events);
    index++;
  };
  for (const thinking of thinks(body) ? answer.reasoning ?? [] : []) {
    add({ type: "thinking", thinking: "", signature: "" }, [
      ...shreds(thinking, 8).map((piece) => ({ type: "thinking_delta", thinking: piece })),
      { type: "signature_delta", signature: signatureOf(thinking) },
    ]);
  }
  const pieces = textDeltas(answer);
  if (pieces.length > 0) {
    add({ type: "text", text: "" }, pieces.map((text) => ({ type: "text_delta", text })));
  }
  for (const call of answer.calls ?? []) {
    const id = call.id ?? `toolu_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
    // The real stream begins with an empty piece, too.
    const parts = ["", ...shreds(argsText(call))];
    add(
      { type: "tool_use", id, name: call.name, input: {} },
      parts.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  }

  const output_tokens = answer.usage?.output ??
    tokensOf(pieces.join("") + (answer.calls ?? []).map(argsText).join(""));
  const stop_reason = REASONS[answer.stop ?? (answer.calls?.length ? "calls" : "stop")];
  const tail = event("message_delta", {
    type: "message_delta",
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens },
  }) + event("message_stop", { type: "message_stop" });
  return { head, deltas, tail };
}

const REASONS = {
  stop: "end_turn",
  calls: "tool_use",
  length: "max_tokens",
  // Anthropic reports what its classifiers stop as a refusal too.
  filter: "refusal",
  refusal: "refusal",
};

/** `input_tokens` counts neither what was read from the cache nor what was written to it. */
function inputUsage(answer: Answer, use: CacheUse | undefined): Json {
  return {
    input_tokens: answer.usage?.input ?? use?.rest ?? 100,
    cache_creation_input_tokens: use?.written ?? 0,
    cache_read_input_tokens: answer.usage?.cached ?? use?.read ?? 0,
  };
}

function event(name: string, data: Json): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
