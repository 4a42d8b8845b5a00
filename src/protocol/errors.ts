/** The codes of contract.md sections 3 and 4. Doors translate them, nothing else does. */
export type SvcCode =
  | "validation"
  | "unauthenticated"
  | "permission_denied"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "ended"
  | "journal_trimmed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "budget_exceeded"
  | "append_only_violation"
  | "timeout"
  | "crash_recovery"
  | "schema_version"
  | "not_implemented"
  | "shutting_down"
  | "unavailable"
  | "internal";

/** An error for clients: what was wrong, and in `hint` what to do. */
export class SvcError extends Error {
  override name = "SvcError";
  readonly code: SvcCode;
  readonly hint?: string;
  readonly details?: Record<string, unknown>;

  constructor(
    code: SvcCode,
    message: string,
    options: { hint?: string; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.details = options.details;
  }
}

/** The `reason` in a conflict's details: another client answered first. */
export const ALREADY_ANSWERED = "already_answered";

/** Whether an answer came too late. */
export function wasAnswered(error: unknown): boolean {
  return error instanceof SvcError && error.details?.reason === ALREADY_ANSWERED;
}

/** Parameters that do not fit a verb's schema: -32602 in JSON-RPC, `validation` everywhere else. */
export class InvalidParams extends SvcError {
  constructor(message: string, details?: Record<string, unknown>) {
    super("validation", message, { details });
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message with its hint. */
export function withHint({ message, hint }: SvcError): string {
  return hint === undefined ? message : `${message}; ${hint}`;
}

/** Turns anything thrown into a {@linkcode SvcError}; other errors become `internal`. */
export function toSvcError(error: unknown): SvcError {
  if (error instanceof SvcError) return error;
  return new SvcError("internal", messageOf(error), { cause: error });
}
