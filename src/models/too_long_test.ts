import { assertEquals } from "@std/assert";
import { tooLong } from "./too_long.ts";

/** By provider: its words, and the limit in them. */
const REFUSALS: Record<string, [words: string, limit?: number, status?: number]> = {
  "OpenAI": [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130011 tokens.",
    128_000,
  ],
  "OpenAI, Responses": [
    "Your input exceeds the context window of this model. (context_length_exceeded)",
  ],
  "Anthropic": ["prompt is too long: 205000 tokens > 200000 maximum", 200_000],
  "Anthropic, with an answer": [
    "input length and `max_tokens` exceed context limit: 198240 + 21333 > 200000",
    200_000,
  ],
  "Google": [
    "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
    1_048_576,
  ],
  "Bedrock": ["Input is too long for requested model."],
  "Azure and Groq": ["Please reduce the length of the messages or completion."],
  "Cerebras": [
    "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    8_192,
  ],
  "OpenRouter, wrapped": [
    'Provider returned error {"raw":"This endpoint\'s maximum context length is 262144 tokens. However, you requested about 264896 tokens"}',
    262_144,
  ],
  "Mistral (jupyterlite/ai#291)": [
    "Prompt contains 152960 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
    131_072,
  ],
  "xAI": [
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    131_072,
  ],
  "Kimi (openclaw/openclaw#9562)": [
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
    262_144,
  ],
  "Kimi, by bytes (MoonshotAI/kimi-code#476)": [
    "total message size 10176584 exceeds limit 2097152",
  ],
  "Z.ai": ["Prompt exceeds max length"],
  "MiniMax": ["invalid params, context window exceeds limit (2013)"],
  "DashScope": ["Range of input length should be [1, 129024]", 129_024],
  "Together": [
    "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens",
    8_193,
    422,
  ],
  "Text Generation Inference": [
    "`inputs` must have less than 4096 tokens. Given: 5000",
    4_096,
    422,
  ],
  "Fireworks": [
    "The prompt is too long: 140000, model maximum context length: 131072",
    131_072,
  ],
  "GitHub Copilot": ["prompt token count of 131000 exceeds the limit of 128000", 128_000],
  "GitHub Models": [
    "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    8_000,
    413,
  ],
  "vLLM": [
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
    32_768,
  ],
  "vLLM behind LiteLLM (getkimchi/kimchi#794)": [
    "ContextWindowExceededError: The input (1492905 tokens) is longer than the model's context length (1048576 tokens).",
    1_048_576,
  ],
  "LM Studio (lmstudio-ai/lmstudio-bug-tracker#546)": [
    "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.",
    32_768,
  ],
  "Ollama": ["prompt too long; exceeded max context length by 512 tokens"],
  "llama.cpp": [
    'the request exceeds the available context size, try increasing it {"n_ctx":4096}',
    4_096,
    500,
  ],
  "Cohere": ["too many tokens: total number of tokens in the prompt cannot exceed 4081"],
};

Deno.test("a conversation that is too long is known in any provider's words", () => {
  for (const [who, [words, limit, status = 400]] of Object.entries(REFUSALS)) {
    const expected = limit === undefined ? {} : { limit };
    assertEquals(tooLong(status, words), expected, who);
    assertEquals(tooLong(undefined, words), expected, `${who}, in a stream`);
  }
});

Deno.test("other refusals are not about the length", () => {
  for (
    const words of [
      "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens",
      "Invalid schema for function 'x': the name is too long",
      "messages.3: tool_use ids were found without tool_result blocks",
      "no such model: long-context-8k",
      "image exceeds 5 MB maximum",
    ]
  ) assertEquals(tooLong(400, words), undefined, words);
  assertEquals(tooLong(429, "Request too large for tokens per minute"), undefined);
});
