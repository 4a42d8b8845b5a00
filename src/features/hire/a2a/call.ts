/** Validates a JSON-RPC request of A2A before the SDK parses it. */
import * as z from "zod";
import { isV1JsonRpcMethod } from "@a2a-js/sdk/compat/v0_3";
import { A2A_ERROR_CODE } from "@a2a-js/sdk/errors";
import { A2A_VERSIONS, type A2aVersion, knownVersion } from "./card.ts";
import { type CallId, idOf } from "./refusal.ts";

export interface A2aCall extends z.output<typeof Call> {
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
  params: z.unknown().optional(),
});

const part = z.looseObject({ kind: z.string().optional(), file: z.looseObject({}).optional() })
  .refine(
    ({ kind, file }) => kind !== "file" || file !== undefined,
    "a file part must have a file",
  );
const push = z.looseObject({ authentication: z.looseObject({}).nullish() });

/** Fields that the SDK cannot handle when invalid; it checks their meaning and the rest itself. */
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

/** The deepest nesting of a request. */
const DEPTH_MAX = 100;

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

export interface CallVersion {
  /** The value of `A2A-Version`; default: by the endpoint or the method. */
  asked?: string;
  /** The only version of the endpoint. */
  pinned?: A2aVersion;
}

/** Parses a request. @throws {CallRefused} with the problem */
export function readCall(text: string, asked: CallVersion): A2aCall {
  const body = parseJson(text);
  if (isDeep(text)) {
    const problem = `the request is nested deeper than ${DEPTH_MAX} levels`;
    throw new CallRefused(idOf(body), A2A_ERROR_CODE.INVALID_REQUEST, problem);
  }
  const call = Call.safeParse(body);
  if (!call.success) {
    const problem = Array.isArray(body) ? "batches are not supported" : firstIssue(call.error);
    throw new CallRefused(idOf(body), A2A_ERROR_CODE.INVALID_REQUEST, problem);
  }
  const { id, method } = call.data;
  const version = versionOf(asked, method);
  if (version === undefined) {
    const supported = asked.pinned ?? A2A_VERSIONS.join(" or ");
    const problem = `A2A ${asked.asked} is not supported; use ${supported}`;
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

/** Whether a JSON text is nested too deep for recursive code. */
function isDeep(text: string): boolean {
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth--;
    if (depth > DEPTH_MAX) return true;
  }
  return false;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CallRefused(null, A2A_ERROR_CODE.PARSE_ERROR, "the body is not JSON");
  }
}

function versionOf({ asked = "", pinned }: CallVersion, method: string): A2aVersion | undefined {
  if (asked.trim() === "") return pinned ?? (isV1JsonRpcMethod(method) ? "1.0" : "0.3");
  const version = knownVersion(asked);
  return pinned === undefined || version === pinned ? version : undefined;
}

function firstIssue({ issues: [{ path, message }] }: z.ZodError, ...within: string[]): string {
  const at = [...within, ...path].join(".");
  return at === "" ? message : `${at}: ${message}`;
}
