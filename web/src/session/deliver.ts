/** What is done with what somebody wrote: a command is carried out, a message is sent. */
import { visible } from "../../../src/base/visible.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import type { Delivery } from "../../../src/protocol/events.ts";
import { personCommand } from "../../../src/protocol/person_command.ts";
import type { App } from "../app.ts";
import { type AttachedFiles, toSend } from "./attached.tsx";
import type { PageActs } from "./chat_commands.ts";

/** Whether a text is a command, or a message that is written as one. */
export function isCommand(text: string): boolean {
  return /^\\?\//.test(text);
}

/**
 * Carries out a command, or sends a message.
 *
 * @param delivery how a message reaches a model at work
 * @returns what a command has to say; undefined for a message
 */
export async function deliver(
  app: App,
  session_id: string,
  line: string,
  files: AttachedFiles["files"],
  acts: PageActs,
  delivery?: Delivery,
): Promise<string | undefined> {
  // The same id if it has to be asked again: it is sent once.
  const client_message_id = crypto.randomUUID();
  let text = line;
  if (isCommand(line)) {
    const { runTyped } = await app.load(() => import("../on_demand.ts"));
    const call: CallVerb = (name, params) => app.client.ask(name, params);
    const typed = await runTyped(line, session_id, call, acts);
    if (!("text" in typed)) return visible(typed.said ?? "");
    ({ text, delivery = delivery } = typed);
  }
  const attachments = toSend(files);
  const run = personCommand(text);
  await app.client.ask("session.send", {
    session_id,
    text: run ?? (text.trim() === "" ? "(attached)" : text),
    run: run !== undefined,
    client_message_id,
    ...(delivery && { delivery }),
    ...(attachments.length > 0 && { attachments }),
  });
}
