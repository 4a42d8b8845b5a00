/**
 * Reads clients' messages. The SDK answers a slightly invalid message with the id null, so that the
 * client waits forever, and invalid parameters with a dump.
 */
import type * as z from "zod";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  InitializeRequestSchema,
  JSONRPCMessageSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "../../sdk/mcp_server.ts";

type Fields = Record<string, unknown>;

const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;

/** Requests with checked parameters, by method. */
const REQUESTS: Readonly<Record<string, z.ZodType>> = {
  "initialize": InitializeRequestSchema,
  "tools/list": ListToolsRequestSchema,
  "tools/call": CallToolRequestSchema,
  "resources/list": ListResourcesRequestSchema,
  "resources/templates/list": ListResourceTemplatesRequestSchema,
  "resources/read": ReadResourceRequestSchema,
  "resources/subscribe": SubscribeRequestSchema,
  "resources/unsubscribe": UnsubscribeRequestSchema,
  "prompts/list": ListPromptsRequestSchema,
  "prompts/get": GetPromptRequestSchema,
  "completion/complete": CompleteRequestSchema,
  "logging/setLevel": SetLevelRequestSchema,
};

/** The answer to an invalid message. */
export interface Refusal {
  jsonrpc: "2.0";
  id: string | number | null;
  error: { code: number; message: string };
}

/** A message for the SDK, or a refusal. */
export type Incoming = { message: JSONRPCMessage } | { refusal: Refusal };

export function readMessage(value: unknown): Incoming {
  const message = tidied(value);
  const parsed = JSONRPCMessageSchema.safeParse(message);
  if (!parsed.success) return refused(message, INVALID_REQUEST, "not one JSON-RPC 2.0 message");
  const { method } = message as Fields;
  const schema = Object.hasOwn(REQUESTS, String(method)) ? REQUESTS[String(method)] : undefined;
  const checked = schema?.safeParse(message);
  if (checked === undefined || checked.success) return { message: parsed.data };
  const [{ path, message: problem }] = checked.error.issues;
  return refused(message, INVALID_PARAMS, `${method}: ${path.join(".")}: ${problem}`);
}

/** Refuses a message, with its id if usable. */
function refused(value: unknown, code: number, message: string): Incoming {
  const id = isObject(value) && (typeof value.id === "string" || Number.isInteger(value.id))
    ? value.id as string | number
    : null;
  return { refusal: { jsonrpc: "2.0", id, error: { code, message } } };
}

/** Drops null parameters and an unusable progress token. */
function tidied(value: unknown): unknown {
  if (!isObject(value) || typeof value.method !== "string") return value;
  const { params, ...rest } = value;
  if (params === null || params === undefined) return rest;
  if (!isObject(params)) return value;
  const { _meta, ...others } = params;
  const all = Object.entries(others).filter(([, part]) => part !== null);
  const meta = isObject(_meta) ? { _meta: withUsableToken(_meta) } : {};
  return { ...rest, params: { ...Object.fromEntries(all), ...meta } };
}

/** A request without a usable token gets no progress. */
function withUsableToken({ progressToken, ...rest }: Fields): Fields {
  return typeof progressToken === "string" || Number.isInteger(progressToken)
    ? { ...rest, progressToken }
    : rest;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
