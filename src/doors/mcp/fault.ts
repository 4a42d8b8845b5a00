/** Errors of MCP requests. */
import { type SvcCode, toSvcError, withHint } from "../../protocol/errors.ts";

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

const CODES: Partial<Record<SvcCode, number>> = {
  validation: INVALID_PARAMS,
  not_found: INVALID_PARAMS,
};

interface Fault {
  code: number;
  message: string;
  data: { svc_code: SvcCode };
}

/** Converts anything thrown. @param not_found code of a missing resource */
export function toFault(thrown: unknown, not_found?: number): Fault {
  const error = toSvcError(thrown);
  const { code } = error;
  const number = (code === "not_found" ? not_found : undefined) ?? CODES[code] ?? INTERNAL_ERROR;
  return { code: number, message: withHint(error), data: { svc_code: code } };
}
