/** Stops a turn and returns queued messages. Must not import Deno: the web app uses it. */
import type * as z from "zod";
import type { withdrawnMessageSchema } from "../../protocol/schemas/session.ts";
import type { CallVerb } from "../verb_types.ts";

export type Withdrawn = z.output<ReturnType<typeof withdrawnMessageSchema>>;

/** What a person reads who takes back messages where none waits. */
export const NONE_QUEUED = "no message waits: the model has read them all";

/** Cancels the running turn. @param giveBack called with the queued messages, if any */
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

/** Returns the text to edit: the messages, then what was being typed. */
export function typedAgain(
  messages: readonly Pick<Withdrawn, "text">[],
  typed: string,
  separator = "\n\n",
): string {
  const texts = [...messages.map(({ text }) => text), typed];
  const whole = texts.filter((text) => text.trim() !== "");
  const text = whole.join(separator);
  // Only a command that comes back alone is one: a blank makes a message of it.
  return whole.length > 1 && text.startsWith("!") ? ` ${text}` : text;
}
