/** JSON-RPC 2.0 over any transport (contract.md section 4): answers messages and batches. */
import { InvalidParams, type SvcCode, type SvcError, toSvcError } from "../../protocol/errors.ts";
import {
  type Abortable,
  BATCH_ANSWER_MAX,
  type Caller,
  type Dispatcher,
  type Pushed,
  resultJson,
} from "../../verbs/define.ts";
import { joined, sizeOf, type Text } from "../../base/text_slices.ts";

/** Answers with more characters are passed on in parts. */
const LONG = 64 * 1024;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;

/** Most messages in a batch, so that answers to 8 MiB of requests do not take gigabytes. */
export const BATCH_MAX = 1000;
/** Most characters in one answer. */
export const ANSWER_MAX = 64 * 1024 * 1024;

/** JSON-RPC numbers of the codes. */
export const NUMBERS: Record<SvcCode, number> = {
  validation: -32001,
  not_found: -32002,
  conflict: -32003,
  ended: -32003,
  append_only_violation: -32004,
  permission_denied: -32005,
  unauthenticated: -32005,
  budget_exceeded: -32006,
  timeout: -32007,
  crash_recovery: -32008,
  schema_version: -32009,
  not_implemented: -32010,
  journal_trimmed: -32011,
  method_not_allowed: INVALID_REQUEST,
  payload_too_large: INVALID_REQUEST,
  unsupported_media_type: INVALID_REQUEST,
  shutting_down: INTERNAL,
  unavailable: INTERNAL,
  internal: INTERNAL,
};

export function rpcError(error: SvcError): Record<string, unknown> {
  return {
    code: error instanceof InvalidParams ? INVALID_PARAMS : NUMBERS[error.code],
    message: error.message,
    data: { svc_code: error.code, hint: error.hint, ...error.details },
  };
}

/** The `$/event` notification of a subscription. */
export function eventFrame(sub: number, event: Pushed): string {
  const { bus_seq, session_id, seq, at, type, data_json } = event;
  return `{"jsonrpc":"2.0","method":"$/event","params":{"sub":${sub},` +
    (bus_seq === undefined ? "" : `"bus_seq":${bus_seq},`) +
    (session_id === undefined ? "" : `"session_id":"${session_id}","seq":${seq},`) +
    `"at":"${at}","type":"${type}","data":${data_json}}}`;
}

/** The notification that a subscription ended by itself. */
export function subscriptionEndedFrame(sub: number, error: SvcError | undefined): string {
  const params = { sub, error: error && rpcError(error) };
  return JSON.stringify({ jsonrpc: "2.0", method: "$/subscription_ended", params });
}

/**
 * Answers a message or a batch.
 *
 * @param sending sends the answer; resolves when the peer has it. Not called for notifications only
 * @param cut ends the connection of a peer that does not read
 */
export async function answer(
  text: string,
  { dispatcher, caller, call, cut }: Answering,
  sending: (answer: Text) => void | Promise<void>,
): Promise<void> {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return await sending(
      failure(null, PARSE_ERROR, "the message is not valid JSON", "parse_error"),
    );
  }
  const isLarge = (one: unknown) =>
    dispatcher.verbs.get((one as Request | null)?.method ?? "")?.large === true;
  const messages = Array.isArray(message) ? message : [message];
  const problem = Array.isArray(message) ? batchProblem(message) : undefined;
  if (problem !== undefined) return await sending(problem);
  const large = messages.some(isLarge);
  const reserved = Array.isArray(message) ? BATCH_ANSWER_MAX : undefined;
  const held = large
    ? await dispatcher.enterRoom({ signal: call.signal, cut }, reserved)
    : undefined;
  try {
    const one = (it: unknown) => answerOne(it, dispatcher, caller, call);
    const said = Array.isArray(message)
      ? await (await import("./batch.ts")).answerBatch(message, {
        answerOne: async (it) => {
          const said = await one(it);
          return said && joined(said);
        },
        tooLarge: (it, what) => tooLarge(idOf(it), what, BATCH_ANSWER_MAX),
        large,
      })
      : await one(message);
    held?.made(sizeOf(said ?? ""));
    if (said !== undefined) await sending(said);
  } finally {
    held?.leave();
  }
}

/** The caller and the dispatcher. */
export interface Answering {
  dispatcher: Dispatcher;
  caller: Caller;
  call: Abortable;
  cut?(): void;
}

function batchProblem(messages: readonly unknown[]): string | undefined {
  if (messages.length === 0) {
    return failure(null, INVALID_REQUEST, "the batch is empty", "invalid_request");
  }
  if (messages.length <= BATCH_MAX) return undefined;
  const said = `a batch can have up to ${BATCH_MAX} messages, this one has ${messages.length}`;
  return failure(null, INVALID_REQUEST, said, "payload_too_large");
}

function tooLarge(id: unknown, message: string, max: number): string {
  const limit = `${max / 1024 / 1024} MiB`;
  const hint = "request less with `last` or `limit`, or use several batches";
  return failure(
    id,
    INVALID_REQUEST,
    `${message}: the limit is ${limit}`,
    "payload_too_large",
    hint,
  );
}

async function answerOne(
  message: unknown,
  dispatcher: Dispatcher,
  caller: Caller,
  call: Abortable,
): Promise<Text | undefined> {
  if (!isRequest(message)) {
    return failure(idOf(message), INVALID_REQUEST, "not a JSON-RPC 2.0 request", "invalid_request");
  }
  const { id, method, params } = message;
  const reply = (text: () => Text) => id === undefined ? undefined : text();
  const verb = dispatcher.verbs.get(method);
  if (verb === undefined) {
    return reply(() => failure(id, METHOD_NOT_FOUND, `unknown method ${method}`, "not_found"));
  }
  try {
    const result = await dispatcher.run(verb, params, caller, call);
    return reply(() => {
      const json = resultJson(result);
      const size = sizeOf(json);
      if (size > ANSWER_MAX) return tooLarge(id, "the answer is too large", ANSWER_MAX);
      const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
      return size > LONG ? [start, json, "}"].flat() : `${start}${joined(json)}}`;
    });
  } catch (error) {
    const said = rpcError(toSvcError(error));
    return reply(() => JSON.stringify({ jsonrpc: "2.0", id, error: said }));
  }
}

interface Request {
  id?: string | number | null;
  method: string;
  params?: unknown;
}

function isRequest(message: unknown): message is Request {
  if (typeof message !== "object" || message === null) return false;
  const { jsonrpc, id, method, params } = message as Record<string, unknown>;
  return jsonrpc === "2.0" && typeof method === "string" &&
    (id === undefined || id === null || typeof id === "string" || typeof id === "number") &&
    (params === undefined || (typeof params === "object" && params !== null));
}

/** The id of an invalid request, if any. */
function idOf(message: unknown): string | number | null {
  const id = (message as { id?: unknown } | null)?.id;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

function failure(
  id: unknown,
  code: number,
  message: string,
  svc_code: string,
  hint?: string,
): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data: { svc_code, hint } } });
}
