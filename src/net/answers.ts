/** Answers of both HTTP interfaces (contract.md sections 2 and 3). */
import { concat } from "../base/bytes.ts";
import { type SvcCode, SvcError } from "../protocol/errors.ts";

/** The HTTP status of each code (contract.md section 3). */
export const STATUS: Record<SvcCode, number> = {
  validation: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  append_only_violation: 409,
  ended: 410,
  journal_trimmed: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  budget_exceeded: 429,
  internal: 500,
  crash_recovery: 500,
  schema_version: 409,
  not_implemented: 501,
  shutting_down: 503,
  unavailable: 503,
  timeout: 504,
};

export const BASE_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "vary": "Origin",
};

/** For secrets: no embedding by other origins, no caching. */
export const SECRET_HEADERS = {
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

export const JSON_HEADERS = { ...BASE_HEADERS, "content-type": "application/json" };

/** The rest of the body is not read, so the connection ends with the answer. */
class UnreadBody extends SvcError {}

/** An error's response (contract.md section 3). */
export function errorResponse(error: SvcError): Response {
  const { code, message, hint, details } = error;
  const headers: Record<string, string> = { ...JSON_HEADERS };
  if (code === "unauthenticated") headers["www-authenticate"] = 'Bearer realm="svc"';
  if (STATUS[code] === 503) headers["retry-after"] = "2";
  if (details?.retry_after_s !== undefined) headers["retry-after"] = `${details.retry_after_s}`;
  if (error instanceof UnreadBody) headers["connection"] = "close";
  return new Response(JSON.stringify({ error: { code, message, hint, details } }), {
    status: STATUS[code],
    headers,
  });
}

/**
 * @param types accepted media types of JSON
 * @throws {SvcError} unsupported_media_type for another type or a compressed body
 */
export function requireJson({ headers }: Request, types = ["application/json"]): void {
  const type = headers.get("content-type")?.split(";")[0].trim().toLowerCase();
  if (type === undefined || !types.includes(type)) {
    throw new SvcError("unsupported_media_type", "the body must be application/json");
  }
  requirePlain(headers);
}

/** @throws {SvcError} unsupported_media_type for a compressed body */
export function requirePlain(headers: Headers): void {
  const coding = headers.get("content-encoding") ?? "identity";
  if (coding.toLowerCase() === "identity") return;
  throw new SvcError("unsupported_media_type", `the body must not be encoded with ${coding}`, {
    hint: "send it without Content-Encoding",
  });
}

/** Time for a body to arrive. */
const BODY_MS = 30_000;

/**
 * Reads a body of at most `max` bytes.
 *
 * @throws {SvcError} payload_too_large; validation when it is late, incomplete, or not UTF-8
 */
export async function bodyText(
  request: Request,
  max: number,
  timeout_ms = BODY_MS,
): Promise<string> {
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > max) throw tooLarge(max);
  // The server holds a body to its length. A reader takes several times as long as `bytes`.
  const reader = length === null ? request.body?.getReader() : undefined;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const within = `within ${timeout_ms / 1000} s`;
    late.reject(new UnreadBody("validation", `the body was not received ${within}`));
    reader?.cancel().catch(() => {});
  }, timeout_ms);
  try {
    const reading = reader === undefined ? request.bytes() : readAtMost(max, reader);
    return decodeUtf8(await Promise.race([reading, late.promise]));
  } catch (error) {
    if (error instanceof SvcError) throw error;
    // Badly framed, or the client disconnected.
    throw new UnreadBody("validation", "the body could not be read completely", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge(max: number): SvcError {
  return new UnreadBody("payload_too_large", `the body is larger than ${max} bytes`);
}

async function readAtMost(
  max: number,
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  try {
    for (let size = 0;;) {
      const { value, done } = await reader.read();
      if (done) return concat(chunks);
      size += value.length;
      if (size > max) throw tooLarge(max);
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** @throws {SvcError} validation */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new SvcError("validation", "the body is not valid UTF-8", { cause });
  }
}

/** Parses a JSON object. @throws {SvcError} validation for anything else */
export function jsonObject(text: string): Record<string, unknown> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new SvcError("validation", "the body is not valid JSON");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new SvcError("validation", "the body must be a JSON object");
  }
  return body as Record<string, unknown>;
}
