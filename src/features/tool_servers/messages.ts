/**
 * Repairs the messages of servers. The protocol's client drops one that does not fit, and the call
 * that it answers would wait until its limit.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import { isObject, type Json } from "../../models/loose_json.ts";

/** The code of an error without one; the protocol does not use it. */
export const NO_CODE = 0;

/**
 * Returns the messages in a value: one, or a batch.
 *
 * @param request_id the id for an answer that has none
 */
export function messagesIn(value: unknown, request_id?: unknown): JSONRPCMessage[] {
  if (Array.isArray(value)) return value.flatMap((each) => messagesIn(each, request_id));
  if (!isObject(value)) return [];
  const message = typeof value.method === "string" ? request(value) : answer(value, request_id);
  return message === undefined ? [] : [message as unknown as JSONRPCMessage];
}

function request({ id, method, params }: Json): Json {
  return {
    jsonrpc: "2.0",
    ...(id === undefined || id === null ? {} : { id }),
    method,
    ...(isObject(params) ? { params: withMeta(params) } : {}),
  };
}

function answer({ id: given, result, error }: Json, request_id: unknown): Json | undefined {
  const id = idOf(given ?? request_id);
  const failed = !(error === undefined || error === null || error === false || error === "");
  if (failed && (result === undefined || result === null)) {
    return { jsonrpc: "2.0", id, error: errorOf(error) };
  }
  return result === undefined ? undefined : { jsonrpc: "2.0", id, result: resultOf(result) };
}

/** Some servers return the number of a request as a text. */
function idOf(id: unknown): unknown {
  return typeof id === "string" && /^\d{1,15}$/.test(id) ? Number(id) : id;
}

function errorOf(error: unknown): Json {
  const { code, message, data } = isObject(error) ? error : { message: error } as Json;
  return {
    code: Number.isInteger(Number(code ?? NaN)) ? Number(code) : NO_CODE,
    message: typeof message === "string" ? message : JSON.stringify(message ?? error),
    ...(data === undefined ? {} : { data }),
  };
}

/** A result is an object; another value is the content of a call. */
function resultOf(result: unknown): Json {
  if (result === null) return {};
  if (!isObject(result)) return { content: [], structuredContent: result };
  const { serverInfo, capabilities } = result;
  if (typeof result.protocolVersion !== "string") return withMeta(result);
  return {
    ...withMeta(result),
    capabilities: isObject(capabilities) ? withoutNulls(capabilities) : {},
    serverInfo: {
      name: "",
      version: "",
      ...(isObject(serverInfo) ? withoutNulls(serverInfo) : {}),
    },
  };
}

/** Capabilities are objects; servers also send true, or null for none. */
function withoutNulls(fields: Json): Json {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== false)
      .map(([name, value]) => [name, value === true ? {} : value]),
  );
}

function withMeta(fields: Json): Json {
  const { _meta, ...rest } = fields;
  return isObject(_meta) ? fields : rest;
}

/** Joins what a program prints for one message: a line, or several lines of formatted JSON. */
export class JsonLines {
  readonly #max: number;
  #lines: string[] = [];
  #length = 0;
  #depth = 0;

  /** @param max the maximum length of a message, in characters */
  constructor(max: number) {
    this.#max = max;
  }

  /** Adds a line. @returns the value that it completes, if any */
  push(line: string): unknown {
    const whole = parsed(line);
    if (this.#lines.length === 0 || isMessage(whole)) {
      this.#begin();
      if (whole !== undefined) return whole;
    }
    if (this.#lines.length === 0 && !/^[{[]/.test(line)) return undefined;
    this.#depth += depthOf(line);
    this.#length += line.length;
    this.#lines.push(line);
    if (this.#depth > 0 && this.#length <= this.#max) return undefined;
    const value = this.#depth === 0 ? parsed(this.#lines.join("\n")) : undefined;
    this.#begin();
    return value;
  }

  #begin(): void {
    this.#lines = [];
    this.#length = this.#depth = 0;
  }
}

function isMessage(value: unknown): boolean {
  const message = Array.isArray(value) ? value[0] : value;
  return isObject(message) &&
    ["jsonrpc", "method", "result", "error"].some((name) => Object.hasOwn(message, name));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns how many more brackets a line opens than it closes, outside of strings. */
function depthOf(line: string): number {
  let depth = 0;
  let in_text = false;
  for (let at = 0; at < line.length; at++) {
    const char = line[at];
    if (in_text && char === "\\") at++;
    else if (char === '"') in_text = !in_text;
    else if (!in_text && (char === "{" || char === "[")) depth++;
    else if (!in_text && (char === "}" || char === "]")) depth--;
  }
  return depth;
}
