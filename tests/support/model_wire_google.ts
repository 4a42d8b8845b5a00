/** Gemini's generateContent. */

import { mediaHead } from "../../src/base/media.ts";
import type { Message, ToolCall } from "../../src/models/model.ts";
import {
  type Answer,
  argsText,
  type Json,
  type Refusal,
  saidIn,
  textDeltas,
  tokensOf,
  type Wire,
} from "./model_servers.ts";

/** Gemini's generateContent as a {@linkcode Wire}. */
export function googleWire(): Wire {
  /** Signatures given out, by the call that they belong to. */
  const signatures = new Map<string, string>();
  return {
    base: "/v1beta",
    answers: (path) => /^\/v1beta\/models\/[^/]+:streamGenerateContent$/.test(path),
    key: (headers) => headers.get("x-goog-api-key") ?? undefined,
    noKey: () =>
      refuse(
        403,
        "PERMISSION_DENIED",
        "Method doesn't allow unregistered callers (callers without established identity).",
      ),
    wrongKey: () =>
      refuse(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    check: (body) => check(body, signatures),
    parse,
    render: (answer, body) => render(answer, body, signatures),
    failure: ({ type, message, code }) =>
      event({ error: { code: code ?? 503, message, status: type } }),
    status: (code, message = `error ${code}`, type = "INTERNAL") =>
      refuse(code, code === 429 && type === "INTERNAL" ? "RESOURCE_EXHAUSTED" : type, message).body,
  };
}

function refuse(code: number, status: string, message: string): Refusal {
  return { status: code, body: { error: { code, message, status } } };
}

function invalid(message: string): Refusal {
  return refuse(400, "INVALID_ARGUMENT", message);
}

function check(body: Json, signatures: Map<string, string>): Refusal | undefined {
  if (!Array.isArray(body?.contents) || body.contents.length === 0) {
    return invalid("* GenerateContentRequest.contents: contents is not specified");
  }
  let calls = 0;
  for (const { role, parts } of body.contents) {
    if (role !== "user" && role !== "model") {
      return invalid("Please use a valid role: user, model.");
    }
    if (!Array.isArray(parts) || parts.length === 0) {
      return invalid(
        "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.",
      );
    }
    const answers = parts.filter((part: Json) => part.functionResponse !== undefined).length;
    if (calls !== answers) {
      return invalid(
        "Please ensure that the number of function response parts is equal to the number of " +
          "function call parts of the function call turn.",
      );
    }
    calls = 0;
    for (const part of parts) {
      for (const { inlineData } of [part, ...part.functionResponse?.parts ?? []]) {
        if (inlineData === undefined) continue;
        const { mimeType, data } = inlineData;
        if (!["image/png", "image/jpeg", "image/webp", "application/pdf"].includes(mimeType)) {
          return invalid(`Unsupported MIME type: ${mimeType}`);
        }
        if (mediaHead(Uint8Array.fromBase64(data))?.media_type !== mimeType) {
          return invalid("Unable to process input image. Please retry or report.");
        }
      }
      if (part.functionCall === undefined) continue;
      calls++;
      const { name, args } = part.functionCall;
      if (typeof args !== "object" || args === null) {
        return invalid(`Invalid value at 'contents.parts.function_call.args' (${name})`);
      }
      const due = signatures.get(`${name} ${JSON.stringify(args)}`);
      if (due !== undefined && part.thoughtSignature !== due) {
        return invalid(
          `Function call is missing a thought_signature in functionCall parts. Function call ` +
            `\`default_api:${name}\``,
        );
      }
    }
  }
  return undefined;
}

function parse(
  body: Json,
  path: string,
): { model: string; system: string; messages: Message[]; tools: string[] } {
  const messages: Message[] = [];
  for (const { role, parts } of body.contents) {
    const text = parts.map((part: Json) => part.text ?? "").join("");
    if (role === "model") {
      const calls = parts.filter((part: Json) => part.functionCall !== undefined)
        .map(({ functionCall }: Json): ToolCall => ({
          call_id: functionCall.id ?? functionCall.name,
          tool: functionCall.name,
          args: functionCall.args,
        }));
      messages.push({ role: "assistant", text, calls });
      continue;
    }
    const results = parts.filter((part: Json) => part.functionResponse !== undefined)
      .map(({ functionResponse: { id, name, response } }: Json) => ({
        call_id: id ?? name,
        tool: name,
        ok: response.error === undefined,
        output: String(response.error ?? response.content ?? ""),
      }));
    if (results.length > 0) messages.push({ role: "tool", results });
    const said = saidIn(text);
    if (said) messages.push({ role: "user", text: said });
  }
  return {
    model: /models\/([^/:]+):/.exec(path)?.[1] ?? "",
    system: (body.systemInstruction?.parts ?? []).map((part: Json) => part.text).join("\n"),
    messages,
    tools: (body.tools ?? []).flatMap((tool: Json) => tool.functionDeclarations ?? [])
      .map((tool: Json) => tool.name),
  };
}

function render(answer: Answer, body: Json, signatures: Map<string, string>) {
  const responseId = crypto.randomUUID();
  const chunk = (parts: Json[], more: Json = {}) =>
    event({
      candidates: [{ content: { role: "model", parts }, index: 0, ...more.candidate }],
      ...(more.usageMetadata === undefined ? {} : { usageMetadata: more.usageMetadata }),
      responseId,
    });

  const deltas = textDeltas(answer).map((text) => chunk([{ text }]));
  for (const call of answer.calls ?? []) {
    const functionCall = { name: call.name, args: JSON.parse(argsText(call)) };
    const thoughtSignature = call.signature;
    if (thoughtSignature !== undefined) {
      signatures.set(`${call.name} ${JSON.stringify(functionCall.args)}`, thoughtSignature);
    }
    deltas.push(chunk([{ functionCall, thoughtSignature }]));
  }
  const promptTokenCount = answer.usage?.input ?? tokensOf(JSON.stringify(body));
  const candidatesTokenCount = answer.usage?.output ?? tokensOf(deltas.join(""));
  const usageMetadata = {
    promptTokenCount,
    candidatesTokenCount,
    totalTokenCount: promptTokenCount + candidatesTokenCount,
    cachedContentTokenCount: answer.usage?.cached ?? 0,
  };
  const finishReason = REASONS[answer.stop ?? "stop"];
  return {
    head: "",
    deltas,
    tail: chunk([{ text: "" }], { candidate: { finishReason }, usageMetadata }),
  };
}

const REASONS = {
  stop: "STOP",
  length: "MAX_TOKENS",
  filter: "SAFETY",
  // Gemini has no reason for it: a refusal is an answer like any other.
  refusal: "STOP",
};

function event(data: Json): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`;
}
