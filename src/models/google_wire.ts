/** Google's format as servers send it: several candidates, and missing ends. */
import { isObject, type Json, numbersIn, parsed } from "./loose_json.ts";
import type { AnswerReader } from "./odd_answers.ts";

/** Members of a part in an answer without Google's own tools. */
const PARTS = ["text", "functionCall", "inlineData", "thoughtSignature"];

export interface GoogleAnswerOptions {
  /** Whether text without an end is accepted, because it happened before. */
  accepts_open_end: boolean;
  /** Called for an answer without an end. */
  onOpenEnd(): void;
  /** Called with each unusable part of the answer. */
  onLost(what: string): void;
}

export class GoogleAnswer implements AnswerReader {
  readonly #options: GoogleAnswerOptions;
  #finished = false;
  #said = false;
  #has_calls = false;

  constructor(options: GoogleAnswerOptions) {
    this.#options = options;
  }

  take(data: string): string[] {
    if (data.trim() === "[DONE]") return [];
    const sent = parsed(data);
    if (sent === undefined || (sent.error !== undefined && sent.error !== null)) return [data];
    // Gateways put the answer into an envelope.
    const event = isObject(sent.response) && sent.candidates === undefined ? sent.response : sent;
    const { candidates, usageMetadata, ...rest } = event;
    if (!Array.isArray(candidates) && !isObject(usageMetadata) && !isObject(rest.promptFeedback)) {
      return [data];
    }
    const all = (Array.isArray(candidates) ? candidates : []).filter(isObject);
    // Only one answer was requested.
    const candidate = all.find(({ index }) => Number(index ?? 0) === 0);
    return [JSON.stringify({
      ...rest,
      ...(candidate === undefined ? {} : { candidates: [this.#candidate(candidate)] }),
      ...(isObject(usageMetadata) ? { usageMetadata: numbersIn(usageMetadata) } : {}),
    })];
  }

  whole(answer: Json): string[] {
    return [...this.take(JSON.stringify(answer)), ...this.end()];
  }

  end(): string[] {
    if (this.#finished) return [];
    if (!this.#has_calls) {
      this.#options.onOpenEnd();
      if (!this.#said || !this.#options.accepts_open_end) return [];
      this.#options.onLost("the end of the answer, so that some of it may be missing");
    }
    return [JSON.stringify({ candidates: [{ content: { parts: [] }, finishReason: "STOP" }] })];
  }

  #candidate({ content, finishReason, ...rest }: Json): Json {
    const { parts, ...more } = isObject(content) ? content : {};
    const list = Array.isArray(parts) ? parts : isObject(parts) ? [parts] : [];
    const known = list.filter(isObject).flatMap((part) => this.#part(part));
    const reason = typeof finishReason === "string" && finishReason !== ""
      ? finishReason.toUpperCase()
      : undefined;
    if (reason !== undefined) this.#finished = true;
    return { ...rest, content: { ...more, parts: known }, finishReason: reason };
  }

  #part(part: Json): Json[] {
    if (!PARTS.some((name) => part[name] !== undefined)) {
      const [kind = "empty"] = Object.keys(part);
      this.#options.onLost(`a part of the answer of an unknown kind (${kind.slice(0, 40)})`);
      return [];
    }
    if (part.functionCall === undefined) {
      this.#said ||= part.thought !== true && typeof part.text === "string" && part.text !== "";
      return [part];
    }
    const { args, id, name, ...rest } = isObject(part.functionCall) ? part.functionCall : {};
    this.#has_calls = true;
    // A call that comes in pieces.
    if (name === undefined || rest.partialArgs !== undefined || rest.willContinue) return [part];
    // Arguments may be an object that was encoded as text.
    const read = typeof args === "string" ? parsed(args) ?? args : args ?? {};
    return [{
      ...part,
      functionCall: {
        ...rest,
        name: `${name ?? ""}`,
        args: read,
        ...(id === undefined || id === null || id === "" ? {} : { id: `${id}` }),
      },
    }];
  }
}
