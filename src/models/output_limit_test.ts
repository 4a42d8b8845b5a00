import { assertEquals } from "@std/assert";
import { ModelError } from "./model.ts";
import { acceptedOutput } from "./output_limit.ts";

const accepted = (message: string, asked = 32_000, status = 400) =>
  acceptedOutput(
    new ModelError(`gate answered ${status}: ${message}`, { status, retryable: false }),
    asked,
  )?.tokens;

/** The words of servers, as users of other agents reported them. */
const REFUSALS: [string, number | undefined][] = [
  [
    "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
    8_192,
  ],
  [
    "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
    4_096,
  ],
  ["Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192],
  [
    "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.",
    16_384,
  ],
  ["`max_tokens` must be less than or equal to `8,192`", 8_192],
  [
    "Unable to submit request because it has a maxOutputTokens value of 32000 but the supported range is from 1 (inclusive) to 8193 (exclusive).",
    8_193,
  ],
  ["max_tokens exceeds what gpt-4 allows", 8_192],
  [
    "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (8000 in the messages, 32000 in the completion).",
    32_768 - 8_000 - 64,
  ],
  [
    "input length and `max_tokens` exceed context limit: 188240 + 32000 > 200000, decrease input length",
    200_000 - 188_240 - 64,
  ],
  // The conversation itself is too long.
  [
    "This model's maximum context length is 32768 tokens. However, you requested 64000 tokens (32500 in the messages, 32000 in the completion).",
    undefined,
  ],
  ["prompt is too long: 205000 tokens > 200000 maximum", undefined],
  ["no such model: m-8192", undefined],
];

Deno.test("the longest answer that a server accepts is read from its refusal", () => {
  for (const [message, limit] of REFUSALS) assertEquals(accepted(message), limit, message);
});

Deno.test("another status, or nothing left to lower, is not about the answer", () => {
  const [[message]] = REFUSALS;
  assertEquals(accepted(message, 32_000, 500), undefined);
  assertEquals(accepted("max_tokens is too large", 4_096), undefined);
});
