/**
 * Refuses A2A requests before the protocol sees them, for their sender, size or type. JSON-RPC
 * clients expect a JSON-RPC error with every status.
 */
import { errorResponse } from "../../../net/answers.ts";
import { type SvcCode, type SvcError, withHint } from "../../../protocol/errors.ts";

export type CallId = string | number | null;

/** The codes of JSON-RPC for errors that have an equivalent there or in A2A. */
const CODES: Partial<Record<SvcCode, number>> = {
  validation: -32600,
  internal: -32603,
  unsupported_media_type: -32005,
};
/** Reserved for errors of the server that no standard describes. */
const OTHER_CODE = -32000;

const REASONS: Record<number, string> = {
  [-32005]: "CONTENT_TYPE_NOT_SUPPORTED",
  [-32009]: "VERSION_NOT_SUPPORTED",
};

/** Returns the error of a JSON-RPC answer; errors of A2A also have their reason as data. */
export function rpcError(code: number, message: string) {
  const reason = REASONS[code];
  if (reason === undefined) return { code, message };
  const type = "type.googleapis.com/google.rpc.ErrorInfo";
  return { code, message, data: [{ "@type": type, reason, domain: "a2a-protocol.org" }] };
}

/**
 * Returns the answer to a refused request, with surface B's usual status.
 *
 * @param text the request, as far as it was read
 */
export function refusalResponse(error: SvcError, text: string): Response {
  const { status, headers } = errorResponse(error);
  const { code, details } = error;
  const said = {
    ...rpcError(CODES[code] ?? OTHER_CODE, withHint(error)),
    ...(details === undefined ? {} : { data: [{ svc_code: code, ...details }] }),
  };
  const body = { jsonrpc: "2.0", id: idIn(text), error: said };
  return new Response(JSON.stringify(body), { status, headers });
}

/** Returns the id of a request; null if it has none that an answer can repeat. */
export function idOf(call: unknown): CallId {
  const id = (call as { id?: unknown } | null)?.id;
  return typeof id === "string" || Number.isInteger(id) ? id as CallId : null;
}

function idIn(text: string): CallId {
  try {
    return idOf(JSON.parse(text));
  } catch {
    return null;
  }
}
