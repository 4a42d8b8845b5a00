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

/** Converts anything thrown into an error of A2A; one without an equivalent is internal. */
export function toA2aError(thrown: unknown, log: Log): Error {
  if (thrown instanceof A2AError) return thrown;
  const error = toSvcError(thrown);
  const { code, stack } = error;
  if (code === "internal") log.error("a hired request failed", { path: A2A_PATH, error: stack });
  // Some clients look for these words.
  const named = code === "not_found" ? "task not found: " : "";
  return new (CLASSES[code] ?? A2AError)(`${named}${withHint(error)}`);
}
