/** Turns failures of a provider into errors that tell people what to fix. */

import { ModelError, type TooLong } from "./model.ts";
import { tooLong } from "./too_long.ts";
import { namesUsageLimit, neverEnds, type Refusal, waitAsked } from "./usage_limit.ts";

/** What messages may mention, and what they must not contain. */
export interface ProviderContext {
  /** The part of a model id before the slash. */
  name: string;
  base_url: string;
  /** Where the key comes from: a variable's name or a line of daemon.toml. */
  key_source: string;
  /** Values that must not appear in any message. */
  secrets: readonly string[];
}

/** The stream stopped before the provider reported its end. */
export function endedEarly(context: ProviderContext): ModelError {
  return new ModelError(`${context.name}: the stream ended early`, { retryable: true });
}

/** An event was skipped in an answer with tool calls, so their arguments may be incomplete. */
export function damagedCalls(context: ProviderContext): ModelError {
  return new ModelError(`${context.name} sent tool calls with an unreadable event`, {
    retryable: true,
  });
}

/**
 * Recognizes an event that is not in the provider's format; undefined for other errors, and for an
 * event with an error of the provider.
 */
export function unreadable(error: unknown): { may_hold_content: boolean } | undefined {
  if (!isRecord(error)) return undefined;
  if (error.name === "AI_JSONParseError") {
    // Proxies insert lines of their own; a text that begins like JSON was an event.
    return { may_hold_content: String(error.text).trimStart().startsWith("{") };
  }
  if (error.name !== "AI_TypeValidationError") return undefined;
  const { value } = error;
  if (isRecord(value) && value.error !== undefined) return undefined;
  // Providers add new events; those of an answer have these names.
  const type = isRecord(value) ? value.type : undefined;
  return { may_hold_content: typeof type !== "string" || /^(content_block|message)/.test(type) };
}

/**
 * Converts what the provider package threw or sent as an error part. The result has no `cause`: the
 * package's errors contain the whole request and the raw answer, which may repeat the key.
 */
export function toModelError(error: unknown, context: ProviderContext): ModelError {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at instanceof ModelError) return at;
  }
  if (!isRecord(error)) return failed(String(error), undefined, context);

  switch (error.name) {
    case "AI_APICallError":
      return ofResponse(error, context);
    case "AI_TypeValidationError":
    case "AI_JSONParseError": {
      const sent = isRecord(error.value) ? error.value.error : undefined;
      if (sent !== undefined) return toModelError(sent, context);
      return failed("an event of the stream is not in the expected format", undefined, context);
    }
    case "AI_InvalidResponseDataError":
      // A stream that is cut inside a tool call looks like an invalid call.
      return endedEarly(context);
  }
  return inStream(error, context);
}

/** Returns the error for a `fetch` without any answer. */
export function unreachable(error: unknown, context: ProviderContext): ModelError {
  const message = error instanceof Error ? error.message : String(error);
  const reason = /client error \([^)]*\): (.*)$/s.exec(message)?.[1] ?? message;
  return new ModelError(clean(`cannot reach ${context.base_url}: ${reason}`, context), {
    // A rejected certificate will be rejected again; anything else may be temporary.
    retryable: !/certificate/i.test(reason),
  });
}

function ofResponse(error: Record<string, unknown>, context: ProviderContext): ModelError {
  const status = typeof error.statusCode === "number" ? error.statusCode : undefined;
  // The status was fine and the body was cut: the connection broke in mid-stream.
  if (status === undefined || status < 300) return endedEarly(context);

  const body = typeof error.responseBody === "string" ? error.responseBody : "";
  const sent = parsed(body);
  const message = messageIn(sent) ?? textOf(body) ?? String(error.message || "no message");
  const headers = isRecord(error.responseHeaders) ? error.responseHeaders : {};

  let hint = "";
  if (status < 400) {
    hint = `. It redirects to ${headers.location ?? "another address"}; set base_url to it`;
  } else if (refusesKey(status, message)) {
    hint = context.secrets.length > 0
      ? `. Check ${context.key_source}`
      : `. No API key was sent: set ${context.key_source}`;
  } else if (status === 404 && sent === undefined) {
    hint = `. Check that base_url (${context.base_url}) is right`;
  }
  const too_long = tooLong(status, `${body} ${message}`);
  return new ModelError(
    clean(`${context.name} answered ${status}: ${message}`, context, hint),
    {
      ...again(status, { headers, sent, message }, too_long),
      status,
      too_long,
      filtered: filters(status, `${body} ${message}`),
    },
  );
}

/** Whether, and when, the same request may succeed. */
function again(
  status: number | undefined,
  refusal: Refusal,
  too_long: TooLong | undefined,
): Pick<ModelError, "retryable" | "limited" | "retry_after_ms"> {
  if (status === undefined || too_long !== undefined || neverEnds(refusal)) {
    return { retryable: false, limited: false };
  }
  const usage_limit = status < 500 && status !== 401 && namesUsageLimit(refusal.message);
  const retry_after_ms = isRetryable(status) || usage_limit
    ? waitAsked(refusal, Date.now())
    : undefined;
  // Other statuses than 429 may have other reasons to name a limit.
  const limited = status === 429 || (usage_limit && retry_after_ms !== undefined);
  return { retryable: limited || isRetryable(status), limited, retry_after_ms };
}

function inStream(error: Record<string, unknown>, context: ProviderContext): ModelError {
  const message = messageIn(error) ?? "no message";
  const kind = [error.type, error.code].find((value) => typeof value === "string");
  const status = typeof error.statusCode === "number"
    ? error.statusCode
    : statusOf(error.code) ?? statusOf(error.status) ?? statusNamed(String(kind ?? ""));
  // An error in our own code (a bug, a denied permission) is not an event of the stream.
  if (error instanceof Error && status === undefined) {
    return failed(message, undefined, context);
  }
  return failed(kind === undefined ? message : `${kind}: ${message}`, status, context, error);
}

function failed(
  message: string,
  status: number | undefined,
  context: ProviderContext,
  sent?: unknown,
): ModelError {
  const too_long = tooLong(status, message);
  return new ModelError(clean(`${context.name} failed: ${message}`, context), {
    ...again(status, { sent, message }, too_long),
    status,
    too_long,
    filtered: filters(status, message),
  });
}

/** Wordings of content filters at Azure, Anthropic and gateways. */
const FILTERED = /\bcontent_filter\b|content[ -]filter(?:ing)? policy|content management policy/i;

function filters(status: number | undefined, text: string): boolean {
  return (status === undefined || status === 400 || status === 403) && FILTERED.test(text);
}

function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Google answers an invalid key with 400. */
function refusesKey(status: number, message: string): boolean {
  return status === 401 || status === 403 ||
    (status === 400 && /api.?key not valid/i.test(message));
}

function statusOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && number >= 400 && number <= 599 ? number : undefined;
}

/** Returns the status for an error's name; errors in mid-stream have no other. */
function statusNamed(name: string): number | undefined {
  if (/overloaded/.test(name)) return 529;
  if (/rate_limit|usage_limit|quota|resource_exhausted/i.test(name)) return 429;
  if (/timeout/.test(name)) return 504;
  if (/unavailable/.test(name)) return 503;
  if (/server_error|api_error|internal/.test(name)) return 500;
  if (/authentication|invalid_api_key/.test(name)) return 401;
  if (/invalid|context_length/.test(name)) return 400;
  return undefined;
}

function messageIn(sent: unknown): string | undefined {
  if (typeof sent === "string") return sent === "" ? undefined : sent;
  if (Array.isArray(sent)) return messageIn(sent[0]);
  if (!isRecord(sent)) return undefined;
  return messageIn(sent.error) ?? messageIn(sent.message) ?? messageIn(sent.detail);
}

/** A body that is not JSON, unless it is a web page. */
function textOf(body: string): string | undefined {
  const text = body.trim();
  return text === "" || text.startsWith("<") || text.startsWith("{") ? undefined : text;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function clean(message: string, context: ProviderContext, hint = ""): string {
  let text = message.replace(/\s+/g, " ").trim();
  if (hint !== "") text = text.replace(/\.$/, "");
  for (const secret of context.secrets) {
    text = text.replaceAll(secret, "[key]").replaceAll(encodeURIComponent(secret), "[key]");
  }
  return (text.length > 600 ? `${text.slice(0, 600).toWellFormed()}…` : text) + hint;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
