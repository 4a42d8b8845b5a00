/**
 * What servers send, as the protocol's client reads it. The client drops a message that is not quite
 * as the protocol says, and the call that it answers would wait until its limit.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";

type Fields = Record<string, unknown>;

/** The code of an error that has none; the protocol has no such error. */
export const NO_CODE = 0;

/**
 * Returns the messages in a value: one, or those of a batch.
 *
 * @param request_id the request that is being answered, for answers without an id
 */
export function messagesIn(value: unknown, request_id?: unknown): JSONRPCMessage[] {
  if (Array.isArray(value)) return value.flatMap((each) => messagesIn(each, request_id));
  if (!isObject(value)) return [];
  const message = typeof value.method === "string" ? request(value) : answer(value, request_id);
  return message === undefined ? [] : [message as unknown as JSONRPCMessage];
}

function request({ id, method, params }: Fields): Fields {
  return {
    jsonrpc: "2.0",
    ...(id === undefined || id === null ? {} : { id }),
    method,
    ...(isObject(params) ? { params: withMeta(params) } : {}),
  };
}

function answer({ id: given, result, error }: Fields, request_id: unknown): Fields | undefined {
  const id = idOf(given ?? request_id);
  const failed = !(error === undefined || error === null || error === false || error === "");
  if (failed && (result === undefined || result === null)) {
    return { jsonrpc: "2.0", id, error: errorOf(error) };
  }
  return result === undefined ? undefined : { jsonrpc: "2.0", id, result: resultOf(result) };
}

/** Returns an id as svc numbers its requests; some servers send it back as a text. */
function idOf(id: unknown): unknown {
  return typeof id === "string" && /^\d{1,15}$/.test(id) ? Number(id) : id;
}

function errorOf(error: unknown): Fields {
  const { code, message, data } = isObject(error) ? error : { message: error } as Fields;
  return {
    code: Number.isInteger(Number(code ?? NaN)) ? Number(code) : NO_CODE,
    message: typeof message === "string" ? message : JSON.stringify(message ?? error),
    ...(data === undefined ? {} : { data }),
  };
}

/** A result is an object; another value is the content of a call. */
function resultOf(result: unknown): Fields {
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

/** Capabilities are objects; servers also say true, or null for none. */
function withoutNulls(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== false)
      .map(([name, value]) => [name, value === true ? {} : value]),
  );
}

function withMeta(fields: Fields): Fields {
  const { _meta, ...rest } = fields;
  return isObject(_meta) ? fields : rest;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Puts together what a program prints for one message: a line, or the lines of JSON that is printed
 * for people.
 */
export class JsonLines {
  readonly #max: number;
  #lines: string[] = [];
  #length = 0;
  #depth = 0;

  /** @param max the most characters of one message */
  constructor(max: number) {
    this.#max = max;
  }

  /** Adds a line. @returns the value that it completes; undefined if it completes none */
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

/** Returns how many more brackets a line opens than it closes, outside of its texts. */
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
