/** What the answers of both HTTP surfaces have in common (contract.md sections 2 and 3). */
import { type SvcCode, SvcError } from "../platform/errors.ts";

const STATUS: Record<SvcCode, number> = {
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
  schema_version: 500,
  not_implemented: 501,
  shutting_down: 503,
  timeout: 504,
};

/** Headers of every answer. */
export const BASE_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "vary": "Origin",
};

/** Headers of an answer in JSON. */
export const JSON_HEADERS = { ...BASE_HEADERS, "content-type": "application/json" };

/** An error as both surfaces show it (contract.md section 3). */
export function errorResponse(error: SvcError): Response {
  const { code, message, hint, details } = error;
  const headers: Record<string, string> = { ...JSON_HEADERS };
  if (code === "unauthenticated") headers["www-authenticate"] = 'Bearer realm="svc"';
  if (code === "shutting_down") headers["retry-after"] = "2";
  return new Response(JSON.stringify({ error: { code, message, hint, details } }), {
    status: STATUS[code],
    headers,
  });
}

/** @throws {SvcError} unsupported_media_type when a body is not said to be JSON. */
export function requireJson(request: Request): void {
  const type = request.headers.get("content-type")?.split(";")[0].trim().toLowerCase();
  if (type !== "application/json") {
    throw new SvcError("unsupported_media_type", "the body must be application/json");
  }
}

/**
 * Reads a body of at most `max` bytes.
 *
 * @throws {SvcError} payload_too_large; validation when it cannot be read to its end.
 */
export async function bodyText(request: Request, max: number): Promise<string> {
  const tooLarge = () => new SvcError("payload_too_large", `the body is larger than ${max} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > max) throw tooLarge();
  if (request.body === null) return "";
  const decoder = new TextDecoder();
  let size = 0;
  let text = "";
  try {
    for await (const chunk of request.body) {
      size += chunk.length;
      if (size > max) throw tooLarge();
      text += decoder.decode(chunk, { stream: true });
    }
  } catch (error) {
    if (error instanceof SvcError) throw error;
    // Badly framed, or the client left in the middle of it.
    throw new SvcError("validation", "the body could not be read to its end", { cause: error });
  }
  return text + decoder.decode();
}

/** Reads a JSON object. @throws {SvcError} validation when the text is something else. */
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
