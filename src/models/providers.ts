/** Models behind an HTTP API, through the `@ai-sdk` provider packages. */

import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import {
  type FinishReason,
  type Model,
  ModelError,
  type ModelPart,
  type ModelRequest,
  type ToolCall,
} from "./model.ts";
import { ANSWER_LIMITS, type AnswerLimits } from "./answer_limits.ts";
import { type LimitOverrides, limitsOf, OUTPUT_MAX } from "./limits.ts";
import {
  damagedCalls,
  endedEarly,
  type ProviderContext,
  toModelError,
  unreadable,
} from "./provider_errors.ts";
import type { ProviderKind } from "./provider_address.ts";
import { baseUrl, fetchFor, headersOf, secretsOf } from "./provider_http.ts";
import { type Dialect, toCallOptions } from "./provider_prompt.ts";

/** The address of a provider and our credentials there. */
export interface ProviderConfig {
  /** The name before the slash, e.g. "local". */
  name: string;
  kind: ProviderKind;
  /** Default: the provider's own address; "openai-compatible" has none. */
  base_url?: string;
  api_key?: string;
  /** Where the key comes from, such as a variable's name; used in messages when it is refused. */
  key_source?: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Default: {@linkcode ANSWER_LIMITS}. */
  limits?: AnswerLimits;
  /** The model's limits in daemon.toml. */
  tokens?: LimitOverrides;
}

type CallOptions = Parameters<LanguageModelV4["doStream"]>[0];

interface Provider {
  language: LanguageModelV4;
  dialect: Dialect;
  settings?: Pick<CallOptions, "maxOutputTokens" | "providerOptions">;
}

/** The most unreadable events that one answer may contain. */
const SKIPPED_MAX = 100;
/** How long to wait for the end of the HTTP response once the model's answer is complete. */
const LINGER_MS = 250;

/**
 * Creates a model of a provider. Loads the provider's package only now, not at start; neither reads
 * an environment variable.
 *
 * @throws {ModelError} when `base_url` is missing or not an HTTP address
 */
export async function providerModel(config: ProviderConfig, model: string): Promise<Model> {
  const base_url = baseUrl(config);
  const max_output_tokens = outputLimit(`${config.name}/${model}`, config.tokens);
  const context: ProviderContext = {
    name: config.name,
    base_url,
    key_source: config.key_source ?? `api_key_env of [models.${config.name}] in daemon.toml`,
    secrets: secretsOf(config),
  };
  const provider = await load(
    config,
    model,
    base_url,
    fetchFor(context, config.limits ?? ANSWER_LIMITS),
  );
  return {
    id: `${config.name}/${model}`,
    stream: (request) => stream(provider, { max_output_tokens, ...request }, context),
  };
}

/** The token limit of an answer, if daemon.toml states how much the model accepts. */
function outputLimit(id: string, tokens: LimitOverrides = {}): number | undefined {
  const { context_tokens, output_tokens } = tokens;
  if (context_tokens === undefined && output_tokens === undefined) return undefined;
  return limitsOf(id, tokens).output_tokens;
}

async function load(
  config: ProviderConfig,
  model: string,
  baseURL: string,
  fetch: typeof globalThis.fetch,
): Promise<Provider> {
  // Uses the model classes of "/internal" instead of the packages' create functions: loading those
  // reads the environment, and even an empty OPENAI_BASE_URL makes that fail.
  const headers = headersOf(config);
  const call_id = (id: string) => id;

  switch (config.kind) {
    case "anthropic": {
      const { AnthropicLanguageModel } = await import("../sdk/anthropic.ts");
      return {
        language: new AnthropicLanguageModel(model, {
          provider: "anthropic.messages",
          baseURL,
          headers,
          fetch,
        }),
        dialect: {
          echo_key: "anthropic",
          cache_marks: true,
          // The conversation may have begun with a provider that allows other ids.
          call_id: (id) => id.replace(/[^a-zA-Z0-9_-]/g, "_"),
        },
        settings: {
          // The API requires it. The package knows the limits of some models and stays below them;
          // for the others it would ask for 4096 tokens, too few to write a file.
          maxOutputTokens: OUTPUT_MAX,
          // Arguments are used only when complete, so the API should check that they are JSON.
          providerOptions: { anthropic: { toolStreaming: false } },
        },
      };
    }
    case "openai": {
      const { OpenAIChatLanguageModel } = await import("../sdk/openai.ts");
      return {
        // Uses chat completions, not responses: each request carries the whole conversation, so the
        // server keeps nothing, a conversation can move between providers, and every gateway for
        // OpenAI supports it.
        language: new OpenAIChatLanguageModel(model, {
          provider: "openai.chat",
          url: ({ path }) => baseURL + path,
          headers,
          fetch,
        }),
        dialect: { echo_key: "openai", cache_marks: false, call_id },
        settings: { providerOptions: { openai: { store: false } } },
      };
    }
    case "google": {
      const { GoogleLanguageModel } = await import("../sdk/google.ts");
      return {
        language: new GoogleLanguageModel(model, {
          provider: "google.generative-ai",
          baseURL,
          headers,
          fetch,
          // Gemini may omit a call's id. OpenAI refuses ids of more than 40 characters.
          generateId: () => `call_${crypto.randomUUID().replaceAll("-", "")}`,
        }),
        dialect: { echo_key: "google", cache_marks: false, call_id },
      };
    }
    case "openai-compatible": {
      const { OpenAICompatibleChatLanguageModel } = await import("../sdk/openai_compatible.ts");
      // The key of the package's metadata is the package's own name, so it cannot be the configured
      // name; nor "openaiCompatible", because the package copies that metadata into the request.
      const name = "compatible";
      return {
        language: new OpenAICompatibleChatLanguageModel(model, {
          provider: `${name}.chat`,
          url: ({ path }) => baseURL + path,
          headers,
          fetch,
          includeUsage: true,
        }),
        dialect: { echo_key: name, cache_marks: false, call_id },
      };
    }
  }
}

async function* stream(
  provider: Provider,
  request: ModelRequest,
  context: ProviderContext,
): AsyncGenerator<ModelPart> {
  if (request.signal.aborted) throw abortError(request.signal);
  const connection = new AbortController();
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  const abort = () => {
    connection.abort();
    // A fetch forgets its signal once its response is garbage collected, and the body then goes on.
    reader?.cancel().catch(() => {});
  };
  request.signal.addEventListener("abort", abort, { once: true });
  try {
    const answer = await provider.language.doStream({
      ...provider.settings,
      ...limitOf(request),
      ...toCallOptions(request, provider.dialect),
      abortSignal: connection.signal,
    });
    reader = answer.stream.getReader();

    // The packages also pass on the calls of an answer that was cut, with half of their arguments.
    // So calls wait for the end; nobody could run them earlier anyway.
    const calls: ToolCall[] = [];
    let skipped = 0;
    let damaged = false;
    for (;;) {
      const { done, value: part } = await reader.read();
      if (done) throw endedEarly(context);
      if (part.type === "text-delta") {
        if (part.delta !== "") yield { type: "text", text: part.delta };
      } else if (part.type === "tool-call" && !part.providerExecuted) {
        calls.push(toCall(part, provider.dialect.echo_key));
      } else if (part.type === "error") {
        const event = unreadable(part.error);
        if (event === undefined) throw toModelError(part.error, context);
        damaged ||= event.may_hold_content;
        if (skipped === 0) {
          const lost = event.may_hold_content ? "; a part of the answer may be missing" : "";
          yield {
            type: "skipped",
            reason: `${context.name} sent an unreadable event, which was skipped${lost}`,
          };
        }
        if (++skipped > SKIPPED_MAX) throw toModelError(part.error, context);
      } else if (part.type === "finish") {
        // Arguments with a missing piece can still be valid JSON.
        const has_calls = calls.length > 0 || part.finishReason.unified === "tool-calls";
        if (damaged && has_calls) throw damagedCalls(context);
        const finish = toFinish(part, calls.length > 0, context);
        await drain(reader);
        for (const call of calls) yield { type: "call", call };
        yield finish;
        return;
      }
    }
  } catch (error) {
    if (request.signal.aborted) throw abortError(request.signal);
    throw toModelError(error, context);
  } finally {
    request.signal.removeEventListener("abort", abort);
    // Closes the connection of an unfinished answer; a finished one has no connection to close.
    connection.abort();
    reader?.cancel().catch(() => {});
  }
}

function limitOf({ max_output_tokens: maxOutputTokens }: ModelRequest) {
  return maxOutputTokens === undefined ? {} : { maxOutputTokens };
}

/** Reads to the end of the HTTP response, so that its connection can be reused. */
async function drain(reader: ReadableStreamDefaultReader<unknown>): Promise<void> {
  let timer: number | undefined;
  const waited = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), LINGER_MS);
  });
  try {
    // The answer is complete, so errors of the connection no longer matter.
    while (!(await Promise.race([reader.read().then((read) => read.done, () => true), waited])));
  } finally {
    clearTimeout(timer);
  }
}

function toCall(
  part: Extract<LanguageModelV4StreamPart, { type: "tool-call" }>,
  echo_key: string,
): ToolCall {
  const echo = part.providerMetadata?.[echo_key];
  return {
    call_id: part.toolCallId,
    tool: part.toolName,
    args: toArgs(part.input),
    ...(echo === undefined ? {} : { echo: { [echo_key]: echo } }),
  };
}

/** Text that is not JSON stays a string; the tool's validation then reports it to the model. */
function toArgs(input: string): unknown {
  if (input.trim() === "") return {};
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

function toFinish(
  part: Extract<LanguageModelV4StreamPart, { type: "finish" }>,
  has_calls: boolean,
  context: ProviderContext,
): ModelPart {
  const { unified, raw } = part.finishReason;
  if (unified === "interrupted") throw endedEarly(context);
  if (unified === "error" || raw === "error") {
    throw new ModelError(`${context.name}: the model stopped with an error (${raw ?? "unnamed"})`, {
      retryable: true,
    });
  }
  const { inputTokens, outputTokens } = part.usage;
  return {
    type: "finish",
    usage: {
      // The packages count cached tokens as part of the total, even where the API does not.
      tokens_in: inputTokens.total ?? 0,
      tokens_out: outputTokens.total ?? 0,
      tokens_cached: inputTokens.cacheRead ?? 0,
      tokens_cache_write: inputTokens.cacheWrite ?? 0,
    },
    reason: reasonOf(part.finishReason, has_calls),
  };
}

function reasonOf(
  { unified, raw }: Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"],
  has_calls: boolean,
): FinishReason {
  if (unified === "length") return "length";
  // Anthropic names a refusal; OpenAI marks its text and ends the answer with "stop".
  if (unified === "content-filter") {
    return /^(refusal|stop)$/.test(raw ?? "") ? "refused" : "filtered";
  }
  // Some servers report "stop" for an answer with calls.
  return has_calls ? "calls" : "stop";
}

function abortError(signal: AbortSignal): DOMException {
  const reason = signal.reason;
  if (reason instanceof DOMException && reason.name === "AbortError") return reason;
  return new DOMException("The model call was aborted.", "AbortError");
}
