/**
 * The interface between the turn loop and a model: one streamed answer to a conversation. Providers
 * (`providers.ts`) and the embedded instruction language (`toolbelt.ts`) implement it.
 */

import type * as z from "zod";
import type { Attachment, MediaType } from "../protocol/attachments.ts";
import type { Effort } from "../protocol/effort.ts";
import type { WrittenCall } from "../protocol/event_data.ts";
import type { modelUsageSchema } from "../protocol/schemas/models.ts";

/** A tool as it is offered to a model. */
export interface ToolSpec {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  input_schema: Record<string, unknown>;
}

/** A tool call in a model's answer. */
export interface ToolCall {
  call_id: string;
  tool: string;
  args: unknown;
  /**
   * What the provider must get back with the call (a Gemini thought signature); svc does not read
   * it.
   */
  echo?: Record<string, unknown>;
  /** What the model wrote, if it was read differently. */
  written?: WrittenCall;
}

/** The answer to a {@linkcode ToolCall}. */
export interface ToolResult {
  call_id: string;
  tool: string;
  ok: boolean;
  output: string;
  attachments?: readonly Attachment[];
}

/** One message of a conversation, oldest first. */
export type Message =
  /**
   * `memory`: what is remembered about the message, as one text. `notice`: the message comes from
   * svc, not from the person.
   */
  | {
    role: "user";
    text: string;
    memory?: string;
    notice?: true;
    attachments?: readonly Attachment[];
  }
  /** `echo`: what the provider must get back with an answer that has no calls. */
  | { role: "assistant"; text: string; calls: ToolCall[]; echo?: Record<string, unknown> }
  | { role: "tool"; results: ToolResult[] };

/** A message from svc to the model, between the messages of a conversation. */
export interface Told {
  role: "context";
  text: string;
  /** It replaces an earlier part of the conversation. */
  summary?: true;
}

/** One request to a model. */
export interface ModelRequest {
  system: string;
  messages: readonly (Message | Told)[];
  /**
   * The bytes of attachments in base64, by their hashes; a line tells the model of those that are
   * missing here. Without it, lines stand for all of them.
   */
  files?: ReadonlyMap<string, string>;
  /** Sorted by name, so that the prefix stays byte-identical and providers can cache it. */
  tools: readonly ToolSpec[];
  /**
   * The most tokens that the answer may have, thinking included; default: the model's own limit.
   */
  max_output_tokens?: number;
  /** How long the model may think before it answers; default: as the provider has it. */
  effort?: Effort;
  signal: AbortSignal;
}

/** Tokens of one model call. `tokens_in` counts all input tokens, the cached ones included. */
export type Usage = z.output<ReturnType<typeof modelUsageSchema>>;

/** A piece of a streamed answer. A complete answer ends with exactly one `finish`. */
export type ModelPart =
  | { type: "text"; text: string }
  /** A piece of the reasoning before the answer. */
  | { type: "reasoning"; text: string }
  /** An unreadable event was skipped; the reason is shown to the person. */
  | { type: "skipped"; reason: string }
  | { type: "call"; call: ToolCall }
  /** `echo`: what the provider must get back with an answer that has no calls. */
  | { type: "finish"; usage: Usage; reason: FinishReason; echo?: Record<string, unknown> };

/**
 * Why an answer ended. `length`: the output limit is reached, so the answer is cut off. `filtered`:
 * a content filter stopped it. `refused`: the model itself did not want to answer.
 */
export type FinishReason = "stop" | "calls" | "length" | "filtered" | "refused";

/** Something that answers {@linkcode ModelRequest}s. */
export interface Model {
  /** `<provider>/<model>`, contract.md section 8. */
  readonly id: string;
  /** The kinds of images and documents that it can be given; default: none. */
  readonly accepts?: readonly MediaType[];
  /**
   * Streams one answer.
   *
   * @throws {ModelError} when the provider refuses, fails, or the stream ends before `finish`.
   * @throws {DOMException} AbortError when `request.signal` fires.
   */
  stream(request: ModelRequest): AsyncIterable<ModelPart>;
}

/** A provider's report that a conversation is too long. */
export interface TooLong {
  /** The most tokens that it accepts, if it says so. */
  limit?: number;
}

/** A failed model call. */
export class ModelError extends Error {
  override name = "ModelError";
  /** Whether the same request may succeed later: 408, 409, 429, 5xx, a cut stream, no connection. */
  readonly retryable: boolean;
  /** The HTTP status, if there was one. */
  readonly status?: number;
  /**
   * The delay that the provider requested in `Retry-After` or `retry-after-ms`, in milliseconds.
   */
  readonly retry_after_ms?: number;
  /** The total number of attempts worth making; default: as for any other failure. */
  readonly attempts?: number;
  /** The conversation is too long for the model; a shorter one may succeed. */
  readonly too_long?: TooLong;
  /** A content filter of the provider refused the request. */
  readonly filtered: boolean;

  constructor(
    message: string,
    options: {
      retryable: boolean;
      status?: number;
      retry_after_ms?: number;
      attempts?: number;
      too_long?: TooLong;
      filtered?: boolean;
      cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable;
    this.status = options.status;
    this.retry_after_ms = options.retry_after_ms;
    this.attempts = options.attempts;
    this.too_long = options.too_long;
    this.filtered = options.filtered ?? false;
  }
}
