/** Whether to shorten a conversation again that a provider still finds too long. */
import { ModelError } from "../models/model.ts";

/** Every model that svc can work with takes so many tokens, with the system prompt and the tools. */
const SMALL_TOKENS = 16_384;
/** How much a conversation has grown when it is worth another try. */
const GROWN_FACTOR = 1.25;

/**
 * Checks that shortening the conversation again may help. Some gateways refuse whatever they are sent:
 * then it would only take the conversation away from the model.
 *
 * @param left tokens that the last time has left, if the model has refused that again
 * @param tokens of the conversation now
 * @param before what the provider said before, in the same turn
 * @throws {ModelError} when it would not help
 */
export function requireProgress(
  error: ModelError,
  { left, tokens, before = error.message }: { left?: number; tokens: number; before?: string },
): void {
  // With other figures it has counted anew.
  if (left === undefined || before !== error.message || tokens > GROWN_FACTOR * left) return;
  const { status, too_long } = error;
  if (too_long?.limit === undefined && tokens > SMALL_TOKENS) return;
  throw new ModelError(
    `${error.message.replace(/\.$/, "")}; svc has shortened the conversation to about ${left} ` +
      "tokens, and the model still refuses it: choose another model, or start a new session",
    { retryable: false, status, too_long, cause: error },
  );
}
