/** Messages to a session, and commands that a person runs in it. */
import { spentBudget } from "../../agent/budget.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { SendOptions } from "../../protocol/events.ts";
import type { Sent } from "../../session/inbox.ts";
import type { Session } from "../../session/session.ts";
import { type Caller, mayBeModel } from "../../verbs/define.ts";
import type { Attached } from "./attach.ts";
import type { SessionServices } from "./verbs.ts";

interface SendContext {
  services: SessionServices;
  caller: Caller;
  signal: AbortSignal;
}

interface Message extends Omit<SendOptions, "attachments" | "run"> {
  session_id: string;
  text: string;
  attachments?: Attached[];
  run: boolean;
}

/**
 * Handles `session.send`.
 *
 * @throws {SvcError} budget_exceeded; permission_denied for a command of a client that may be a
 * model; validation for attachments; as `Session.send`
 */
export async function sendMessage(
  { services, caller, signal }: SendContext,
  { session_id, text, attachments, run, ...more }: Message,
): Promise<Sent> {
  const session = await services.hub.get(session_id);
  if (run) return await runForPerson(session, text, more.client_message_id, caller);
  const { client_message_id } = more;
  const known = client_message_id !== undefined && session.state.sent.has(client_message_id);
  const spent = spentBudget(session.state, services.config().agent.budget_usd);
  if (spent !== undefined && !known) {
    throw new SvcError("budget_exceeded", spent, {
      hint: "give it a larger budget with session.configure",
    });
  }
  // A stopped session refuses the message itself.
  const taken = session.state.state === "running" && !known;
  if (!attachments?.length || !taken) return await session.send(text, more);
  const { keepAttachments } = await import("./attach.ts");
  const kept = await keepAttachments(services, session, attachments, signal);
  return await session.send(text, { ...more, attachments: kept });
}

/** Runs a command in a turn of its own, as soon as no other turn runs. */
async function runForPerson(
  session: Session,
  text: string,
  client_message_id: string | undefined,
  caller: Caller,
): Promise<Sent> {
  if (mayBeModel(caller) || session.state.trust !== "trusted") {
    throw new SvcError(
      "permission_denied",
      "only a person runs a command, in a session of theirs",
      {
        hint: "the person can type it after a ! in `svc chat`",
      },
    );
  }
  const command = text.trim();
  if (command === "") throw new SvcError("validation", "session.send: there is no command to run");
  return await session.send(`!${command}`, { client_message_id, delivery: "queue", run: true });
}
