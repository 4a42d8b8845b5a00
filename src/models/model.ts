/**
 * The interface between the turn loop and a model: one streamed answer to a conversation.
 * Implemented in `providers.ts` and `toolbelt.ts`.
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
  /** Goes back to the provider with the call (a Gemini thought signature); svc does not read it. */
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
   * `memory`: what is remembered about the message. `notice`: it comes from svc, not from the
   * person.
   */
  | {
    role: "user";
    text: string;
    memory?: string;
    notice?: true;
    attachments?: readonly Attachment[];
  }
  /** `echo`: goes back to the provider with an answer without calls. */
  | { role: "assistant"; text: string; calls: ToolCall[]; echo?: Record<string, unknown> }
  | { role: "tool"; results: ToolResult[] };

/** A message from svc to the model, between the messages of a conversation. */
export interface Told {
  role: "context";
  text: string;
  /** It replaces an earlier part of the conversation. */
  summary?: true;
}

export interface ModelRequest {
  system: string;
  messages: readonly (Message | Told)[];
  /** Attachments in base64, by hash; a text line replaces each missing one. */
  files?: ReadonlyMap<string, string>;
  /** Sorted by name: a byte-identical prefix can be cached by providers. */
  tools: readonly ToolSpec[];
  /** Maximum tokens of the answer, thinking included; default: the model's limit. */
  max_output_tokens?: number;
  /** How long the model may think; default: the provider's. */
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
  /** An unreadable event was skipped; the person sees the reason. */
  | { type: "skipped"; reason: string }
  | { type: "call"; call: ToolCall }
  /** `echo`: goes back to the provider with an answer without calls. */
  | { type: "finish"; usage: Usage; reason: FinishReason; echo?: Record<string, unknown> };

/**
 * Why an answer ended. `length`: cut off at the output limit. `filtered`: stopped by a content
 * filter. `refused`: by the model itself.
 */
export type FinishReason = "stop" | "calls" | "length" | "filtered" | "refused";

export interface Model {
  /** `<provider>/<model>`, contract.md section 8. */
  readonly id: string;
  /** The kinds of images and documents that it accepts; default: none. */
  readonly accepts?: readonly MediaType[];
  /**
   * Streams one answer.
   *
   * @throws {ModelError} if the provider refuses, fails, or ends the stream before `finish`
   * @throws {DOMException} AbortError when `request.signal` fires
   */
  stream(request: ModelRequest): AsyncIterable<ModelPart>;
}

/** A provider's report that a conversation is too long. */
export interface TooLong {
  /** The most tokens that it accepts, if it says so. */
  limit?: number;
}

export class ModelError extends Error {
  override name = "ModelError";
  /** Whether a retry may succeed: 408, 409, 429, 5xx, a cut stream, no connection. */
  readonly retryable: boolean;
  /** The HTTP status, if there was one. */
  readonly status?: number;
  /** How long the provider asks to wait, in milliseconds; see `usage_limit.ts`. */
  readonly retry_after_ms?: number;
  /** A rate limit or a usage limit refused the request; it ends by itself. */
  readonly limited: boolean;
  /** The number of attempts worth making; default: as for any other failure. */
  readonly attempts?: number;
  /** The conversation is too long; a shorter one may succeed. */
  readonly too_long?: TooLong;
  /** A content filter of the provider refused the request. */
  readonly filtered: boolean;

  constructor(
    message: string,
    options: Pick<ModelError, "retryable"> & Partial<Omit<ModelError, "name" | "message">>,
  ) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable;
    this.status = options.status;
    this.retry_after_ms = options.retry_after_ms;
    this.limited = options.limited ?? false;
    this.attempts = options.attempts;
    this.too_long = options.too_long;
    this.filtered = options.filtered ?? false;
  }
}
