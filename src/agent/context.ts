/** How long a conversation is, as the model counts it. */
import type { Item, Transcript } from "../session/transcript.ts";
import type { Limits } from "../models/limits.ts";
import { SYSTEM_PROMPT } from "./prefix.ts";
import type { Tool } from "./tools.ts";

/** Characters of English text or code that make a token, at least. */
const CHARACTERS_A_TOKEN = 3;
/** What surrounds a message, a call or a result, in tokens. */
const FRAME = 8;

/** Tokens of a text by estimate: rather too many. */
export function tokensOf(text: string): number {
  let other = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) other++;
  return Math.ceil((text.length - other) / CHARACTERS_A_TOKEN + other);
}

/** Tokens of an item of a conversation, by estimate. */
export function itemTokens(item: Item): number {
  if ("told" in item) return FRAME + tokensOf(item.told);
  if ("user" in item) return FRAME + tokensOf(item.user) + tokensOf(item.memory ?? "");
  if ("summary" in item) return 5 * FRAME + tokensOf(item.summary + item.files.join(", "));
  const { text, calls, results } = item.step;
  let tokens = FRAME + tokensOf(text);
  for (const { call_id, tool, args, echo } of calls) {
    tokens += FRAME + tokensOf(JSON.stringify([call_id, tool, args, echo]));
  }
  for (const { call_id, tool, output } of results) {
    tokens += FRAME + tokensOf(call_id + tool) + tokensOf(output);
  }
  return tokens;
}

/**
 * Tokens of the next request: what the provider counted last, and an estimate of what came since.
 *
 * @param prefix tokens of system prompt and tools, for a conversation that was not measured.
 */
export function requestTokens(transcript: Transcript, prefix: () => number): number {
  const { measured, items } = transcript;
  let tokens = measured?.tokens ?? prefix();
  for (let at = measured?.items ?? 0; at < items.length; at++) tokens += itemTokens(items[at]);
  return tokens;
}

/** Tokens that a request may have, with room left for the answer. */
export function roomOf({ context_tokens, output_tokens }: Limits): number {
  return Math.max(context_tokens - output_tokens, Math.floor(context_tokens / 4));
}

/** The limits of a model, by what is known of it and what a provider said when it refused. */
export function limitsFor(limits: Limits, learned: number | undefined): Limits {
  if (learned === undefined || learned >= limits.context_tokens) return limits;
  const output_tokens = Math.min(limits.output_tokens, Math.floor(learned / 4));
  return { ...limits, context_tokens: learned, output_tokens };
}

/** Tokens of what every request begins with, by estimate. */
export function prefixTokens(tools: readonly Tool[]): number {
  return tokensOf(SYSTEM_PROMPT + JSON.stringify(tools.map(({ spec }) => spec)));
}
