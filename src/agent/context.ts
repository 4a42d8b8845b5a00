/** Estimates the length of a conversation in the model's tokens. */
import type { Item } from "../session/transcript_items.ts";
import type { Transcript } from "../session/transcript.ts";
import type { Limits } from "../models/limits.ts";
import { SYSTEM_PROMPT } from "./prefix.ts";
import { attachmentTokens } from "./attachments.ts";
import type { Tool } from "./tool.ts";

/** The fewest characters of English text or code in a token. */
const CHARACTERS_A_TOKEN = 3;
/**
 * A provider's count above our estimate times this is wrong: some gateways add up the counts of all
 * requests. Small counts are not judged.
 */
const TRUE_FACTOR = 4;
const JUDGED_MIN = 16_384;
/** Tokens around a message, a call or a result. */
const FRAME = 8;

/** Estimates the tokens of a text, rather too high. */
export function tokensOf(text: string): number {
  let other = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) other++;
  return Math.ceil((text.length - other) / CHARACTERS_A_TOKEN + other);
}

/** Estimates the tokens of an item of a conversation. */
export function itemTokens(item: Item): number {
  if ("told" in item) return FRAME + tokensOf(item.told);
  if ("notice" in item) return FRAME + tokensOf(item.notice);
  if ("user" in item) {
    return FRAME + tokensOf(item.user) + tokensOf(item.memory ?? "") +
      attachmentTokens(item.attachments);
  }
  if ("summary" in item) {
    return 5 * FRAME + tokensOf(item.summary + item.files.join(", ") + (item.plan ?? ""));
  }
  const { text, calls, results, echo: said_echo } = item.step;
  let tokens = FRAME + tokensOf(text) + tokensOf(JSON.stringify(said_echo) ?? "");
  for (const { call_id, tool, args, echo } of calls) {
    tokens += FRAME + tokensOf(JSON.stringify([call_id, tool, args, echo]));
  }
  for (const { call_id, tool, output, attachments } of results) {
    tokens += FRAME + tokensOf(call_id + tool) + tokensOf(output) + attachmentTokens(attachments);
  }
  return tokens;
}

/**
 * Returns the tokens of the next request: the provider's last count, if it can be right, plus an
 * estimate for the rest.
 *
 * @param prefix tokens of system prompt and tools, without a count
 */
export function requestTokens(transcript: Transcript, prefix: () => number): number {
  const { measured, items } = transcript;
  const counted = measured?.items ?? 0;
  let tokens = measured?.tokens ?? prefix();
  if (tokens > JUDGED_MIN && measured !== undefined) {
    const estimate = items.slice(0, counted).reduce((sum, it) => sum + itemTokens(it), prefix());
    if (tokens > TRUE_FACTOR * estimate) tokens = estimate;
  }
  for (let at = counted; at < items.length; at++) tokens += itemTokens(items[at]);
  return tokens;
}

/** Returns the most tokens of a request, leaving space for the answer. */
export function roomOf({ context_tokens, output_tokens }: Limits): number {
  return Math.max(context_tokens - output_tokens, Math.floor(context_tokens / 4));
}

/** Lowers a model's limits to what a provider reported in a refusal. */
export function limitsFor(limits: Limits, learned: number | undefined): Limits {
  if (learned === undefined || learned >= limits.context_tokens) return limits;
  const output_tokens = Math.min(limits.output_tokens, Math.floor(learned / 4));
  return { ...limits, context_tokens: learned, output_tokens };
}

/** Estimates the tokens of the prefix of every request. */
export function prefixTokens(tools: readonly Tool[]): number {
  return tokensOf(SYSTEM_PROMPT + JSON.stringify(tools.map(({ spec }) => spec)));
}
