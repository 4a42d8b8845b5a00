import { ModelError } from "../models/model.ts";

/** Every usable model takes this many tokens, with the system prompt and the tools. */
const SMALL_TOKENS = 16_384;
/** How much a conversation must grow to be worth another try. */
const GROWN_FACTOR = 1.25;

/**
 * Checks that shortening again may help. Some gateways refuse everything, and would only take the
 * conversation away from the model.
 *
 * @param left tokens after the last time, if the model refused that too
 * @param tokens of the conversation now
 * @param before the provider's last message in this turn
 * @throws {ModelError} if it would not help
 */
export function requireProgress(
  error: ModelError,
  { left, tokens, before = error.message }: { left?: number; tokens: number; before?: string },
): void {
  // With other figures the provider has counted again.
  if (left === undefined || before !== error.message || tokens > GROWN_FACTOR * left) return;
  const { status, too_long } = error;
  if (too_long?.limit === undefined && tokens > SMALL_TOKENS) return;
  throw new ModelError(
    `${error.message.replace(/\.$/, "")}; svc has shortened the conversation to about ${left} ` +
      "tokens, and the model still refuses it: choose another model, or start a new session",
    { retryable: false, status, too_long, cause: error },
  );
}
