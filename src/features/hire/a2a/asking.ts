/** Turns a message into a task, once, however often the message is sent. */
import { Message, type SendMessageRequest } from "@a2a-js/sdk";
import { sha256Hex } from "../../../base/sha256.ts";
import { RequestMalformedError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import type { CallbackTarget } from "../../tasks/callback_store.ts";
import type { TaskClient } from "../../tasks/client_store.ts";
import type { TaskRecord } from "../../tasks/task.ts";
import type { Hirer, Hiring } from "../hiring.ts";
import { readMessage } from "./message.ts";

/** The caller of a request. */
export interface Asker {
  asker: Hirer;
  /** Returns the callback for a push notification configuration. @throws when it is not allowed. */
  toCallback(
    config: NonNullable<SendMessageRequest["configuration"]>["taskPushNotificationConfig"],
    context_id: string,
  ): CallbackTarget | undefined;
}

/** Returns the key under which a caller's tasks are stored: empty when no token is needed. */
export function keyOf(asker: Hirer): string {
  return asker ?? "";
}

/** Longer messages are not kept for the history, in characters. */
const MESSAGE_KEPT_MAX = 64 * 1024;
const CONTEXT_ID_MAX = 256;

/**
 * Creates the task that a message requests. The same message from the same client again is the same
 * task: a client that did not receive the answer may send it once more.
 *
 * @returns the task's record
 * @throws {A2AError} or {SvcError} for an invalid request
 */
export async function askFor(
  hiring: Hiring,
  params: SendMessageRequest,
  { asker, toCallback }: Asker,
): Promise<TaskRecord> {
  const { message, configuration, metadata = {} } = params;
  if (!message?.messageId) throw new RequestMalformedError("message.messageId is required");
  if (message.contextId.length > CONTEXT_ID_MAX) {
    throw new RequestMalformedError(`message.contextId has more than ${CONTEXT_ID_MAX} characters`);
  }
  if (message.taskId !== "") await refuseFollowUp(hiring, message.taskId, asker);
  const accepted = hiring.accept(readMessage(message, metadata, hiring.offer.task_types));
  const said = Message.toJSON(message);
  const text = JSON.stringify(said);
  const client: TaskClient = {
    key_id: keyOf(asker),
    request_id: await sha256Hex(`${text} ${JSON.stringify(metadata)}`),
    context_id: message.contextId || crypto.randomUUID(),
    message: text.length <= MESSAGE_KEPT_MAX ? said : null,
  };
  const callback = toCallback(configuration?.taskPushNotificationConfig, client.context_id);
  return await hiring.enqueue(accepted, asker, { client, callback });
}

/** A task accepts only one message. */
async function refuseFollowUp(hiring: Hiring, id: string, asker: Hirer): Promise<never> {
  await hiring.get(id, asker);
  throw new UnsupportedOperationError(
    `task ${id} accepts no further messages; send a message without taskId to start a new task`,
  );
}
