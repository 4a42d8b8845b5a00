/** Validates a JSON-RPC request of A2A before the SDK parses it. */
import * as z from "zod";
import { isV1JsonRpcMethod } from "@a2a-js/sdk/compat/v0_3";
import { A2A_ERROR_CODE } from "@a2a-js/sdk/errors";
import { A2A_VERSIONS, type A2aVersion } from "./card.ts";

export type CallId = string | number | null;

/** A valid request. */
export interface A2aCall {
  jsonrpc: "2.0";
  id: CallId;
  method: string;
  params: Record<string, unknown>;
  version: A2aVersion;
}

/** A request that is refused, with its error response. */
export class CallRefused extends Error {
  override name = "CallRefused";

  constructor(readonly id: CallId, readonly code: number, message: string) {
    super(message);
  }
}

const Call = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.int(), z.null()]).default(null),
  method: z.string().min(1),
  params: z.unknown(),
});

const part = z.looseObject({ kind: z.string().optional(), file: z.looseObject({}).optional() })
  .refine(
    ({ kind, file }) => kind !== "file" || file !== undefined,
    "a file part must have a file",
  );
const push = z.looseObject({ authentication: z.looseObject({}).nullish() });

/**
 * Fields that the SDK cannot handle when they are invalid; it checks their meaning and all other
 * fields itself.
 */
const Params = z.looseObject({
  message: z.looseObject({ parts: z.array(part).min(1) }).nullish(),
  configuration: z.looseObject({
    historyLength: z.int().min(0).nullish(),
    pushNotificationConfig: push.nullish(),
    taskPushNotificationConfig: push.nullish(),
  }).nullish(),
  pushNotificationConfig: push.nullish(),
  authentication: z.looseObject({}).nullish(),
  historyLength: z.int().min(0).nullish(),
  id: z.string().optional(),
  taskId: z.string().optional(),
  pushNotificationConfigId: z.string().optional(),
});

/** The required fields of methods of version 0.3. */
const NEEDED: Record<string, string[]> = {
  "tasks/get": ["id"],
  "tasks/cancel": ["id"],
  "tasks/resubscribe": ["id"],
  "tasks/pushNotificationConfig/set": ["taskId", "pushNotificationConfig"],
  "tasks/pushNotificationConfig/get": ["id"],
  "tasks/pushNotificationConfig/list": ["id"],
  "tasks/pushNotificationConfig/delete": ["id", "pushNotificationConfigId"],
};

/**
 * Parses a request.
 *
 * @param header the value of `A2A-Version`; without it the method determines the version
 * @throws {CallRefused} with the problem
 */
export function readCall(text: string, header: string | undefined): A2aCall {
  const body = parseJson(text);
  const call = Call.safeParse(body);
  if (!call.success) {
    const problem = Array.isArray(body) ? "batches are not supported" : firstIssue(call.error);
    throw new CallRefused(null, A2A_ERROR_CODE.INVALID_REQUEST, problem);
  }
  const { id, method } = call.data;
  const version = versionOf(header, method);
  if (version === undefined) {
    const problem = `A2A ${header} is not supported; use ${A2A_VERSIONS.join(" or ")}`;
    throw new CallRefused(id, A2A_ERROR_CODE.VERSION_NOT_SUPPORTED, problem);
  }
  const params = Params.safeParse(call.data.params ?? {});
  if (!params.success) {
    const problem = firstIssue(params.error, "params");
    throw new CallRefused(id, A2A_ERROR_CODE.INVALID_PARAMS, problem);
  }
  const missing = NEEDED[method]?.find((name) => (params.data[name] ?? null) === null);
  if (missing !== undefined) {
    throw new CallRefused(id, A2A_ERROR_CODE.INVALID_PARAMS, `params.${missing} is required`);
  }
  return { ...call.data, params: params.data, version };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CallRefused(null, A2A_ERROR_CODE.PARSE_ERROR, "the body is not JSON");
  }
}

function versionOf(header = "", method: string): A2aVersion | undefined {
  if (header.trim() === "") return isV1JsonRpcMethod(method) ? "1.0" : "0.3";
  // A patch number does not change the protocol (A2A, section 3.6).
  const [named] = /^\d+\.\d+(?=\.\d+$|$)/.exec(header.trim()) ?? [];
  return A2A_VERSIONS.find((version) => version === named);
}

function firstIssue({ issues: [{ path, message }] }: z.ZodError, ...within: string[]): string {
  const at = [...within, ...path].join(".");
  return at === "" ? message : `${at}: ${message}`;
}
