/**
 * How a person stops a turn: what is queued goes back to the person, so that no other turn starts. It
 * imports nothing of Deno's, so that the web app can use it.
 */
import type * as z from "zod";
import type { withdrawnMessageSchema } from "../../protocol/schemas/session.ts";
import type { CallVerb } from "../verb_types.ts";

/** A message that was taken back. */
export type Withdrawn = z.output<ReturnType<typeof withdrawnMessageSchema>>;

/**
 * Cancels the turn in flight.
 *
 * @param giveBack told the messages that were queued, if there were some
 * @throws as the verbs
 */
export async function stopTurn(
  call: CallVerb,
  session_id: string,
  giveBack: (messages: readonly Withdrawn[]) => void,
): Promise<void> {
  try {
    const { messages } = await call("session.withdraw", { session_id });
    if (messages.length > 0) giveBack(messages);
  } finally {
    await call("session.cancel", { session_id });
  }
}

/** Returns what is then to be edited: the texts, before what was being typed. */
export function typedAgain(
  messages: readonly Pick<Withdrawn, "text">[],
  typed: string,
  separator = "\n\n",
): string {
  const texts = [...messages.map(({ text }) => text), typed];
  return texts.filter((text) => text.trim() !== "").join(separator);
}
