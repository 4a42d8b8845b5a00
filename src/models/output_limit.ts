/** The longest answer that a server allows, read from its refusal. */
import type { ModelError } from "./model.ts";

/** Wordings about the limit of an answer, in requests and in refusals. */
const ABOUT_OUTPUT =
  /max_?(?:output_|completion_|new_)?tokens|maximum tokens|maxOutputTokens|(?:output|completion) tokens/i;
/** Refusals of an answer that does not fit beside the conversation. */
const BESIDE = [
  /context length (?:is|of) (?<limit>[\d,]+).*?\((?<used>[\d,]+) (?:in the messages|of text input)/is,
  /context limit: (?<used>[\d,]+) \+ [\d,]+ > (?<limit>[\d,]+)/i,
  /context length (?:is|of) (?<limit>[\d,]+).*?prompt contains (?:at least )?(?<used>[\d,]+)/is,
];
/** A number that is not part of a model's name. */
const NUMBER = /(?<![\w.-])\d[\d,]*(?![\w-]|\.\d)/g;
/** A shorter answer could not hold a file. */
const USEFUL_MIN = 256;
/** What most servers accept, for a refusal without a number. */
const USUAL = [8_192, 4_096];
/** Tokens that servers count differently. */
const MARGIN = 64;

/** An answer that a server may accept. */
export interface Accepted {
  tokens: number;
  /** Whether the limit holds for every request, not only beside this conversation. */
  always: boolean;
}

/**
 * Returns the longest answer that a server may accept instead of `asked` tokens; undefined if its
 * error is about something else, or leaves no room.
 */
export function acceptedOutput(
  { status, message }: ModelError,
  asked: number,
): Accepted | undefined {
  if (status === undefined || ![400, 413, 422].includes(status)) return undefined;
  // Without the provider's name and the status.
  const said = message.slice(message.indexOf(": ") + 1);
  for (const pattern of BESIDE) {
    const { limit, used } = pattern.exec(said)?.groups ?? {};
    if (limit === undefined) continue;
    const room = numberOf(limit) - numberOf(used) - MARGIN;
    // A shorter conversation helps more than a shorter answer.
    return room >= 4 * USEFUL_MIN && room < asked ? { tokens: room, always: false } : undefined;
  }
  if (!ABOUT_OUTPUT.test(said)) return undefined;
  const named = [...said.matchAll(NUMBER)].map(([text]) => numberOf(text))
    .filter((number) => number >= USEFUL_MIN && number < asked);
  const tokens = named.length > 0 ? Math.max(...named) : USUAL.find((it) => it < asked);
  return tokens === undefined ? undefined : { tokens, always: true };
}

function numberOf(text: string): number {
  return Number(text.replaceAll(",", ""));
}
