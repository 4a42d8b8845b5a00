/**
 * Reasoning in chat completions. Each server wants its own field back with the calls it led to, and
 * refuses others: DeepSeek and Kimi refuse a request without it, Groq and Cerebras one with another
 * field.
 */
import { isObject, type Json, parsed } from "./loose_json.ts";

/** The reasoning of an answer, by its fields. */
export type SentReasoning = Json;

/** Texts that come in pieces. */
const TEXTS = ["reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque"];
/** A list of parts that come in pieces (OpenRouter). */
const DETAILS = "reasoning_details";
/** Texts in such a part that come in pieces; the newest value of other members counts. */
const DETAIL_TEXTS = new Set(["text", "summary", "data"]);

/** Collects the reasoning of an answer. */
export class ReasoningFields {
  readonly #texts = new Map<string, string>();
  readonly #details: Json[] = [];

  /** Takes a piece of the answer. */
  take(delta: Json): void {
    for (const name of TEXTS) {
      const piece = delta[name];
      if (typeof piece !== "string") continue;
      this.#texts.set(name, (this.#texts.get(name) ?? "") + piece);
    }
    const details = delta[DETAILS];
    for (const piece of Array.isArray(details) ? details.filter(isObject) : []) this.#add(piece);
  }

  /** What has come so far, if anything. */
  get sent(): SentReasoning | undefined {
    const texts = [...this.#texts].filter(([, text]) => text !== "");
    if (texts.length === 0 && this.#details.length === 0) return undefined;
    return {
      ...Object.fromEntries(texts),
      ...(this.#details.length > 0 ? { [DETAILS]: this.#details } : {}),
    };
  }

  #add(piece: Json): void {
    const last = this.#details.at(-1);
    if (last === undefined || last.index !== piece.index || last.type !== piece.type) {
      this.#details.push({ ...piece });
      return;
    }
    for (const [name, value] of Object.entries(piece)) {
      const before = last[name];
      const continues = DETAIL_TEXTS.has(name) && typeof before === "string";
      if (value !== null) last[name] = continues ? `${before}${value}` : value;
    }
  }
}

/**
 * Returns a request's body with the reasoning of its answers.
 *
 * @param given by answer, oldest first
 * @param required whether the server always refuses calls without it
 */
export function withReasoning(
  body: string,
  given: readonly (SentReasoning | undefined)[],
  required: boolean,
): string {
  // A model does not think before every call, and a call may be another model's. A server that
  // wants reasoning back wants an empty field then.
  const wanted = required || given.some((it) => it?.reasoning_content !== undefined);
  if (!wanted && given.every((it) => it === undefined)) return body;
  const request = parsed(body);
  if (request === undefined || !Array.isArray(request.messages)) return body;
  let at = 0;
  const messages = request.messages.map((message) => {
    if (!isObject(message) || message.role !== "assistant") return message;
    return { ...message, ...(wanted ? { reasoning_content: "" } : {}), ...given[at++] };
  });
  return JSON.stringify({ ...request, messages });
}
