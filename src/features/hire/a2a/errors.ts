/** Errors as A2A has them. */
import {
  A2AError,
  RequestMalformedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import { type SvcCode, toSvcError, withHint } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import { A2A_PATH } from "./card.ts";

const CLASSES: Partial<Record<SvcCode, new (message: string) => Error>> = {
  not_found: TaskNotFoundError,
  validation: RequestMalformedError,
  permission_denied: RequestMalformedError,
  conflict: UnsupportedOperationError,
};

/** Turns anything thrown into an error of A2A; what it has no name for is an internal one. */
export function toA2aError(thrown: unknown, log: Log): Error {
  if (thrown instanceof A2AError) return thrown;
  const error = toSvcError(thrown);
  const { code, stack } = error;
  if (code === "internal") log.error("a hired request failed", { path: A2A_PATH, error: stack });
  return new (CLASSES[code] ?? A2AError)(withHint(error));
}
