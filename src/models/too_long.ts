/** Recognizes a provider's refusal of a conversation that is too long, and its limit. */
import type { TooLong } from "./model.ts";

/** Statuses of such refusals by providers and local servers. */
const STATUS: ReadonlySet<number | undefined> = new Set([undefined, 400, 413, 422, 500]);
/** Wordings of providers, gateways and local servers; the test names them. */
const WORDS = new RegExp(
  [
    "context_length_exceeded|exceed_context_size|request_too_large|string_above_max_length",
    "tokens_limit_reached|model_max_prompt_tokens_exceeded|ContextWindowExceeded",
    "context_window_exceeded",
    "(?:maximum|max) (?:context|prompt|input|model) length",
    "(?:prompt|input|conversation|request|messages?|body) (?:is |are )?too (?:long|large)",
    "exceeds? (?:the )?(?:model's |available |maximum |max )*context",
    "exceed context limit",
    "context (?:window|length|size) (?:of |was |is )?(?:exceeded|exceeds|overflow)",
    "token count[^.]{0,40} exceeds",
    "(?:greater|longer) than (?:the )?(?:model's )?(?:maximum )?(?:context|model) length",
    "too many (?:input )?tokens",
    "request too large",
    "exceed(?:s|ed)? (?:the )?model(?:'s)? token limit",
    "prompt exceeds max length",
    "loaded with context length of only",
    "range of input length should be",
    "tokens \\+ `?max_new_tokens`? must be",
    "must have less than [\\d,]+ tokens",
    "reduce the length of the (?:messages|prompt|input)",
    "message size [\\d,]+ exceeds limit",
  ].join("|"),
  "i",
);
/** Wordings that state the limit, in tokens. */
const LIMITS = [
  /(?:maximum|max) (?:context|prompt|input|model) length (?:is|of)(?: only)? ([\d,]+)/i,
  /> ([\d,]+) maximum/i,
  /context limit: [\d,]+ \+ [\d,]+ > ([\d,]+)/i,
  /tokens allowed \(([\d,]+)\)/i,
  /context size \(([\d,]+)/i,
  /"n_ctx":\s*(\d+)/,
  /([\d,]+) maximum context length/i,
  /maximum context length: ([\d,]+)/i,
  /context length \(([\d,]+) tokens\)/i,
  /model token limit: ([\d,]+)/i,
  /context length of only ([\d,]+)/i,
  /input length should be \[\d+, ([\d,]+)\]/i,
  /must be <= ([\d,]+)/i,
  /must have less than ([\d,]+) tokens/i,
  /exceeds the limit of ([\d,]+)/i,
  /max size: ([\d,]+) tokens/i,
  /while limit is ([\d,]+)/i,
];

/** Detects whether a conversation was refused because of its length. */
export function tooLong(status: number | undefined, text: string): TooLong | undefined {
  if (!STATUS.has(status) || (status !== 413 && !WORDS.test(text))) return undefined;
  for (const pattern of LIMITS) {
    const limit = Number(pattern.exec(text)?.[1].replaceAll(",", ""));
    if (limit > 0) return { limit };
  }
  return {};
}
