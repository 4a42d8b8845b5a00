/** Translates HTTP messages between clients and the SDK. */
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import { bodyText, JSON_HEADERS, requirePlain } from "../../net/answers.ts";
import { readMessage, type Refusal } from "./incoming.ts";

export interface HttpMessage {
  /** Without its body. */
  request: Request;
  /** One message, or a batch. */
  posted?: JSONRPCMessage | JSONRPCMessage[];
  /** Whether the client does not accept an event stream. */
  json_only: boolean;
}

const INVALID_PARAMS = -32602;
const BOTH = "application/json, text/event-stream";

/**
 * Reads a request, or returns a refusal. The SDK demands both media types in `Accept`, which many
 * clients do not send. Throws as {@linkcode bodyText}.
 */
export async function readHttp(
  request: Request,
  body_max: number,
): Promise<HttpMessage | Response> {
  const headers = new Headers(request.headers);
  const takes = taken(headers.get("accept"));
  const posts = request.method === "POST";
  if (posts && (takes.json || takes.events)) headers.set("accept", BOTH);
  if (request.method === "GET" && takes.events) headers.set("accept", "text/event-stream");
  const json_only = posts && takes.json && !takes.events;
  const bare = new Request(request.url, { method: request.method, headers });
  if (!posts || !isJson(headers)) return { request: bare, json_only };
  requirePlain(headers);
  let body: unknown;
  const text = await bodyText(request, body_max);
  bare.headers.delete("content-length");
  try {
    body = JSON.parse(text);
  } catch {
    const error = { code: -32700, message: "the body is not valid JSON" };
    return answer({ jsonrpc: "2.0", id: null, error });
  }
  const read = (Array.isArray(body) ? body : [body]).map(readMessage);
  const refusals = read.flatMap((it) => "refusal" in it ? [it.refusal] : []);
  if (refusals.length > 0) return answer(Array.isArray(body) ? refusals : refusals[0]);
  const messages = read.flatMap((it) => "message" in it ? [it.message] : []);
  return { request: bare, json_only, posted: Array.isArray(body) ? messages : messages[0] };
}

function taken(accept: string | null): { json: boolean; events: boolean } {
  const types = (accept ?? "*/*").split(",").map((type) => type.split(";")[0].trim().toLowerCase());
  const takes = (...names: string[]) => [...names, "*/*"].some((name) => types.includes(name));
  return {
    json: takes("application/json", "application/*"),
    events: takes("text/event-stream", "text/*"),
  };
}

function isJson(headers: Headers): boolean {
  const type = headers.get("content-type")?.split(";")[0].trim().toLowerCase();
  return type === "application/json";
}

/** Invalid parameters are not a bad HTTP request; everything else is. */
function answer(refusal: Refusal | Refusal[]): Response {
  const understood = !Array.isArray(refusal) && refusal.error.code === INVALID_PARAMS;
  return new Response(JSON.stringify(refusal), {
    status: understood ? 200 : 400,
    headers: JSON_HEADERS,
  });
}

/** Converts an event stream to JSON, without its notifications. */
export async function asJson(response: Response): Promise<Response> {
  const { status, headers } = response;
  const messages = (await response.text()).split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trim())
    .filter((data) => data !== "")
    .map((data) => JSON.parse(data));
  const answers = messages.filter(({ method }) => method === undefined);
  const all = new Headers(headers);
  all.set("content-type", "application/json");
  const body = JSON.stringify(answers.length === 1 ? answers[0] : answers);
  return new Response(body, { status, headers: all });
}
