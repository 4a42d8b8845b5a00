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
import type { Effort } from "../protocol/effort.ts";
import { nearestEffort } from "./effort_levels.ts";
import { type LimitOverrides, limitsOf, OUTPUT_MAX } from "./limits.ts";
import { withEscapes } from "./loose_json.ts";
import {
  damagedCalls,
  endedEarly,
  type ProviderContext,
  toModelError,
  unreadable,
} from "./provider_errors.ts";
import { type OpenAiApi, openAiApi, type ProviderKind } from "./provider_address.ts";
import type { Quirks } from "./presets.ts";
import { contextOf, fetchFor, headersOf } from "./provider_http.ts";
import { exactFetch, type Exchange } from "./odd_answers.ts";
import { type Dialect, type ReasoningPart, toCallOptions } from "./provider_prompt.ts";
import { acceptedMedia } from "./vision.ts";

/** A provider's address and our credentials there. */
export interface ProviderConfig {
  /** The name before the slash, such as "local". */
  name: string;
  kind: ProviderKind;
  /** Default: the provider's own address; "openai-compatible" has none. */
  base_url?: string;
  /** For "openai"; default: see {@linkcode openAiApi}. */
  api?: OpenAiApi;
  api_key?: string;
  /** Where the key comes from, for messages about a refused one. */
  key_source?: string;
  headers?: Record<string, string>;
  /** Default: {@linkcode ANSWER_LIMITS}. */
  limits?: AnswerLimits;
  /** The model's limits in daemon.toml. */
  tokens?: LimitOverrides;
  /** Whether its models accept images; default: by their names. */
  images?: boolean;
  /** The model's levels of effort, if known. */
  efforts?: readonly Effort[];
  /** The most tokens that the model can write in an answer, if known. */
  longest_answer?: number;
  quirks?: Quirks;
}

type CallOptions = Parameters<LanguageModelV4["doStream"]>[0];

interface Provider {
  /** Returns what sends one request. */
  language: (exchange: Exchange) => LanguageModelV4;
  dialect: Dialect;
  /** Whether it refuses calls without reasoning. */
  reasoning_required?: boolean;
  /** The longest answer that its server was found to accept, in tokens. */
  longest_answer?: number;
  /** Whether the last answer had no end. */
  open_end?: boolean;
  settings?: Pick<CallOptions, "maxOutputTokens" | "providerOptions" | "includeRawChunks">;
}

/** The most unreadable events in one answer. */
const SKIPPED_MAX = 100;
/** How long to wait for the end of the HTTP response after the complete answer. */
const LINGER_MS = 250;

/**
 * Creates a model of a provider. Loads the provider's package only now; it reads no environment
 * variable.
 *
 * @throws {ModelError} if `base_url` is missing or not an HTTP address
 */
export async function providerModel(config: ProviderConfig, model: string): Promise<Model> {
  const { efforts, tokens } = config;
  const max_output_tokens = outputLimit(`${config.name}/${model}`, tokens);
  const context = contextOf(config);
  const provider = await load(config, model, context);
  return {
    id: `${config.name}/${model}`,
    accepts: provider.dialect.accepts,
    stream: (request) => {
      const effort = nearestEffort(request.effort, efforts);
      return allowed(provider, { max_output_tokens, ...request, effort }, context);
    },
  };
}

/** Returns the limit of an answer, if daemon.toml states how much the model accepts. */
function outputLimit(id: string, tokens: LimitOverrides = {}): number | undefined {
  const { context_tokens, output_tokens } = tokens;
  if (context_tokens === undefined && output_tokens === undefined) return undefined;
  return limitsOf(id, tokens).output_tokens;
}

async function load(
  config: ProviderConfig,
  model: string,
  context: ProviderContext,
): Promise<Provider> {
  const { base_url: baseURL } = context;
  const fetch = fetchFor(context, config.limits ?? ANSWER_LIMITS);
  // The model classes of "/internal", not the create functions: loading those reads the
  // environment, and even an empty OPENAI_BASE_URL makes that fail.
  const headers = headersOf(config);
  const { kind, name: provider_name, images } = config;
  const usual: Omit<Dialect, "echo_key"> = {
    cache_marks: false,
    accepts: acceptedMedia({ kind, provider: provider_name, model, images }),
    files_in_results: true,
    call_id: (id) => id,
  };

  switch (config.kind) {
    case "anthropic": {
      const { AnthropicLanguageModel } = await import("../sdk/anthropic.ts");
      const { AnthropicAnswer } = await import("./anthropic_wire.ts");
      return {
        language: ({ lost }) =>
          new AnthropicLanguageModel(model, {
            provider: "anthropic.messages",
            baseURL,
            headers,
            fetch: exactFetch(fetch, context, () => new AnthropicAnswer((it) => lost.push(it))),
          }),
        dialect: {
          ...usual,
          echo_key: "anthropic",
          cache_marks: true,
          reasoning_key: `anthropic/reasoning/${model}`,
          // The conversation may have begun with a provider that allows other ids.
          call_id: (id) => id.replace(/[^a-zA-Z0-9_-]/g, "_"),
        },
        settings: {
          // The API requires it. The package knows only some models' limits; for the others it
          // would ask for 4096 tokens, too few to write a file.
          maxOutputTokens: Math.min(OUTPUT_MAX, config.longest_answer ?? OUTPUT_MAX),
          // Arguments are used only when complete, so the API should check that they are JSON.
          providerOptions: { anthropic: { toolStreaming: false } },
        },
      };
    }
    case "openai": {
      const sdk = await import("../sdk/openai.ts");
      const responses = openAiApi(config) === "responses";
      const Language = responses ? sdk.OpenAIResponsesLanguageModel : sdk.OpenAIChatLanguageModel;
      const { exactChat } = await import("./chat_wire.ts");
      const { ResponsesAnswer } = await import("./responses_wire.ts");
      const exact = (exchange: Exchange) =>
        responses
          ? exactFetch(fetch, context, () => new ResponsesAnswer((it) => exchange.lost.push(it)))
          : exactChat(fetch, context, exchange);
      return {
        language: (exchange) =>
          new Language(model, {
            provider: responses ? "openai.responses" : "openai.chat",
            url: ({ path }) => baseURL + path,
            headers,
            fetch: exact(exchange),
          }),
        dialect: {
          ...usual,
          echo_key: "openai",
          files_in_results: responses,
          // Only the model that wrote it can read it.
          ...(responses
            ? { reasoning_key: `openai/reasoning/${model}` }
            : { reasoning_key: `${provider_name}/reasoning/${model}`, reasoning_fields: true }),
        },
        // The server keeps nothing: each request carries the whole conversation, which can move
        // between providers.
        settings: {
          providerOptions: { openai: { store: false } },
          // For the end of an answer; see `closingReason`.
          includeRawChunks: responses,
        },
      };
    }
    case "google": {
      const { GoogleLanguageModel } = await import("../sdk/google.ts");
      const { GoogleAnswer } = await import("./google_wire.ts");
      const reader = ({ lost, open_end }: Exchange) =>
        new GoogleAnswer({
          accepts_open_end: open_end.before,
          onOpenEnd: () => open_end.now = true,
          onLost: (what) => lost.push(what),
        });
      return {
        language: (exchange) =>
          new GoogleLanguageModel(model, {
            provider: "google.generative-ai",
            baseURL,
            headers,
            fetch: exactFetch(fetch, context, () => reader(exchange)),
            // Gemini may omit a call's id. OpenAI refuses ids of more than 40 characters.
            generateId: () => `call_${crypto.randomUUID().replaceAll("-", "")}`,
          }),
        dialect: {
          ...usual,
          echo_key: "google",
        },
      };
    }
    case "openai-compatible": {
      const { OpenAICompatibleChatLanguageModel } = await import("../sdk/openai_compatible.ts");
      const { exactChat } = await import("./chat_wire.ts");
      const { no_stream_options, reasoning_back, short_call_ids } = config.quirks ?? {};
      // A fixed name: the package copies the metadata under "openaiCompatible" into the request,
      // and does not use the configured name.
      const name = "compatible";
      return {
        language: (exchange) =>
          new OpenAICompatibleChatLanguageModel(model, {
            provider: `${name}.chat`,
            url: ({ path }) => baseURL + path,
            headers,
            fetch: exactChat(fetch, context, exchange),
            includeUsage: no_stream_options !== true,
          }),
        dialect: {
          ...usual,
          echo_key: name,
          files_in_results: false,
          call_id: short_call_ids ? shortCallId : usual.call_id,
          reasoning_key: `${provider_name}/reasoning/${model}`,
          reasoning_fields: true,
        },
        reasoning_required: reasoning_back,
      };
    }
  }
}

/** Returns the nine letters and digits that stand for a call id. */
function shortCallId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id;
  // FNV-1a, 64 bits.
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(id)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(36).padStart(9, "0").slice(-9);
}

/** Streams an answer; asks for a shorter one if the server requires that. */
async function* allowed(
  provider: Provider,
  request: ModelRequest,
  context: ProviderContext,
): AsyncGenerator<ModelPart> {
  const wanted = request.max_output_tokens ?? provider.settings?.maxOutputTokens;
  let asked = wanted && Math.min(wanted, provider.longest_answer ?? Infinity);
  for (let begun = false;;) {
    try {
      for await (
        const part of stream(provider, { ...request, max_output_tokens: asked }, context)
      ) {
        begun = true;
        yield part;
      }
      return;
    } catch (error) {
      if (begun || asked === undefined || !(error instanceof ModelError)) throw error;
      const { acceptedOutput } = await import("./output_limit.ts");
      const accepted = acceptedOutput(error, asked);
      if (accepted === undefined) throw error;
      asked = accepted.tokens;
      if (accepted.always) provider.longest_answer = asked;
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
    const { given, ...options } = toCallOptions(request, provider.dialect);
    const { reasoning_required: required = false, open_end: before = false } = provider;
    const open_end = { before, now: false };
    const exchange: Exchange = { given, required, lost: [], open_end };
    const answer = await provider.language(exchange).doStream({
      ...provider.settings,
      ...(request.max_output_tokens === undefined
        ? {}
        : { maxOutputTokens: request.max_output_tokens }),
      ...(request.effort === undefined ? {} : { reasoning: request.effort }),
      ...options,
      abortSignal: connection.signal,
    });
    reader = answer.stream.getReader();

    // Calls wait for the end, because the packages also pass on the calls of a cut answer, with
    // half of their arguments.
    const calls: ToolCall[] = [];
    const reasoning = new ReasoningParts();
    let skipped = 0;
    let damaged = false;
    let closing: LanguageFinish | undefined;
    for (;;) {
      const { done, value: part } = await reader.read();
      if (done) throw endedEarly(context);
      for (const what of exchange.lost.splice(0)) {
        yield { type: "skipped", reason: `${context.name} sent what svc cannot use: ${what}` };
      }
      if (part.type === "text-delta") {
        if (part.delta !== "") yield { type: "text", text: part.delta };
      } else if (part.type === "tool-call" && !part.providerExecuted) {
        calls.push(toCall(part, provider.dialect, reasoning.take()));
      } else if (isReasoning(part)) {
        reasoning.add(part);
        if (part.type === "reasoning-delta" && part.delta !== "") {
          yield { type: "reasoning", text: part.delta };
        }
      } else if (part.type === "raw") {
        closing = closingReason(part.rawValue) ?? closing;
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
        const finishReason = skipped > 0 && closing !== undefined ? closing : part.finishReason;
        provider.open_end = exchange.open_end.now;
        const finish = toFinish({ ...part, finishReason }, calls.length > 0, context);
        await drain(reader);
        const echo = fieldsEcho(provider.dialect, exchange);
        for (const [at, call] of calls.entries()) {
          yield { type: "call", call: at > 0 || !echo ? call : withEcho(call, echo) };
        }
        yield calls.length > 0 || !echo ? finish : { ...finish, echo };
        return;
      }
    }
  } catch (error) {
    if (request.signal.aborted) throw abortError(request.signal);
    throw toModelError(error, context);
  } finally {
    request.signal.removeEventListener("abort", abort);
    // Closes the connection of an unfinished answer; a finished one has none.
    connection.abort();
    reader?.cancel().catch(() => {});
  }
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

/** The reasoning of an answer that goes back in fields of its message. */
function fieldsEcho(
  { reasoning_key, reasoning_fields }: Dialect,
  { sent }: Exchange,
): Record<string, unknown> | undefined {
  const fields = reasoning_fields ? sent?.() : undefined;
  return reasoning_key === undefined || fields === undefined
    ? undefined
    : { [reasoning_key]: fields };
}

function withEcho(call: ToolCall, echo: Record<string, unknown>): ToolCall {
  return { ...call, echo: { ...call.echo, ...echo } };
}

function toCall(
  part: Extract<LanguageModelV4StreamPart, { type: "tool-call" }>,
  { echo_key, reasoning_key, reasoning_fields }: Dialect,
  reasoning: readonly ReasoningPart[],
): ToolCall {
  const metadata = part.providerMetadata?.[echo_key];
  const echo = {
    ...(metadata === undefined ? {} : { [echo_key]: metadata }),
    ...(reasoning_key === undefined || reasoning_fields || reasoning.length === 0
      ? {}
      : { [reasoning_key]: reasoning }),
  };
  return {
    call_id: part.toolCallId,
    tool: part.toolName,
    args: toArgs(part.input),
    ...(Object.keys(echo).length === 0 ? {} : { echo }),
  };
}

type ReasoningDelta = Extract<
  LanguageModelV4StreamPart,
  { type: "reasoning-start" | "reasoning-delta" | "reasoning-end" }
>;

function isReasoning(part: LanguageModelV4StreamPart): part is ReasoningDelta {
  return part.type === "reasoning-start" || part.type === "reasoning-delta" ||
    part.type === "reasoning-end";
}

/** The reasoning before a call, from the package's pieces. */
class ReasoningParts {
  readonly #open = new Map<string, ReasoningPart>();
  #ended: ReasoningPart[] = [];

  add(part: ReasoningDelta): void {
    const { text, metadata } = this.#open.get(part.id) ?? { text: "", metadata: {} };
    const whole = {
      text: part.type === "reasoning-delta" ? text + part.delta : text,
      metadata: merged(metadata, part.providerMetadata),
    };
    if (part.type !== "reasoning-end") {
      this.#open.set(part.id, whole);
      return;
    }
    this.#open.delete(part.id);
    this.#ended.push(whole);
  }

  /**
   * Returns the parts that ended since the last call and are sealed: the provider takes back only
   * its own.
   */
  take(): ReasoningPart[] {
    const ended = this.#ended;
    this.#ended = [];
    // Several of OpenAI's parts form one item, which is sealed at its end.
    const items = ended.filter(isSealed).map(({ metadata }) => metadata.openai?.itemId);
    return ended.filter((part) =>
      isSealed(part) ||
      part.metadata.openai !== undefined && items.includes(part.metadata.openai.itemId)
    );
  }
}

function isSealed({ metadata: { openai, anthropic } }: ReasoningPart): boolean {
  return typeof (openai?.reasoningEncryptedContent ?? anthropic?.signature ??
    anthropic?.redactedData) === "string";
}

function merged(
  before: ReasoningPart["metadata"],
  more: ReasoningPart["metadata"] = {},
): ReasoningPart["metadata"] {
  const names = Object.keys({ ...before, ...more });
  return Object.fromEntries(names.map((name) => [name, { ...before[name], ...more[name] }]));
}

/** Text that is not JSON stays a string; the tool's validation reports it to the model. */
function toArgs(input: string): unknown {
  if (input.trim() === "") return {};
  for (const text of [input, withEscapes(input)]) {
    try {
      return JSON.parse(text);
    } catch {
      continue;
    }
  }
  return input;
}

type LanguageFinish = Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"];

/**
 * Reads how an answer in OpenAI's responses format ended. After an unreadable event, the package
 * always reports an error.
 */
function closingReason(event: unknown): LanguageFinish | undefined {
  const { type, response } = (event ?? {}) as {
    type?: unknown;
    response?: { incomplete_details?: { reason?: string } | null };
  };
  if (type !== "response.completed" && type !== "response.incomplete") return undefined;
  const raw = response?.incomplete_details?.reason;
  const unified = raw === "max_output_tokens"
    ? "length"
    : raw === "content_filter"
    ? "content-filter"
    : "stop";
  return { unified, raw };
}

function toFinish(
  part: Extract<LanguageModelV4StreamPart, { type: "finish" }>,
  has_calls: boolean,
  context: ProviderContext,
): Extract<ModelPart, { type: "finish" }> {
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
      // The packages include cached tokens in the total, even where the API does not.
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
  // Anthropic names a refusal; OpenAI marks its text and ends the answer normally.
  if (unified === "content-filter") {
    return /^(refusal|stop|)$/.test(raw ?? "") ? "refused" : "filtered";
  }
  // Some servers report "stop" for an answer with calls.
  return has_calls ? "calls" : "stop";
}

function abortError(signal: AbortSignal): DOMException {
  const reason = signal.reason;
  if (reason instanceof DOMException && reason.name === "AbortError") return reason;
  return new DOMException("The model call was aborted.", "AbortError");
}
