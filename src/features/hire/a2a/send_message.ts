/**
 * Turns messages into tasks, once, however often a message is sent. An incomplete request in plain
 * words becomes a draft, which its client completes with further messages.
 */
import { Message, type Part, Role, type SendMessageRequest } from "@a2a-js/sdk";
import { RequestMalformedError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { sha256Hex } from "../../../base/sha256.ts";
import { SvcError, withHint } from "../../../protocol/errors.ts";
import type { Calling } from "../../../verbs/call.ts";
import { newTaskId, noSuchTask, tooManyCallbacks } from "../../tasks/common.ts";
import { CALLBACKS_MAX } from "../../tasks/task.ts";
import { callHire, lookUp } from "../calls.ts";
import { skillLines } from "./card.ts";
import { chooseSkill, optionsFor, saysNothingMore } from "./choice.ts";
import type { Draft, DraftCallback } from "./draft_store.ts";
import type { Drafts } from "./drafts.ts";
import { readMessage, type Said, toRequest } from "./message.ts";

export interface Requester {
  calling: Calling;
  drafts: Drafts;
  /** Returns the callback for a push notification configuration. @throws if it is not allowed. */
  toCallback(
    config: NonNullable<SendMessageRequest["configuration"]>["taskPushNotificationConfig"],
    context_id: string,
  ): Promise<DraftCallback | undefined>;
}

/** Returns the key under which a caller's drafts are stored: empty if no token is needed. */
export function keyOf({ caller: { key_id } }: Calling): string {
  return key_id ?? "";
}

/** Longer messages are not kept for the history or a draft, in characters. */
const MESSAGE_KEPT_MAX = 64 * 1024;
const CONTEXT_ID_MAX = 256;

interface Incoming extends Requester {
  message: Message;
  params: SendMessageRequest;
  /** Identifies the message for its sender. */
  request_id: string;
}

/** A message that was not sent before. */
interface Fresh extends Incoming {
  said: Said;
}

/**
 * Creates the task that a message requests, or continues the draft that it answers. The same
 * message id from the same client is the same task, whatever the message says, because a client may
 * repeat a message without an answer.
 *
 * @returns the id of the task or draft
 * @throws {A2AError} or {SvcError} for an invalid request
 */
export async function askFor(params: SendMessageRequest, requester: Requester): Promise<string> {
  const { message, metadata = {} } = params;
  if (!message?.messageId) throw new RequestMalformedError("message.messageId is required");
  // Distinguishes further messages to a task from those that create one.
  const request_id = await sha256Hex(`${message.taskId}\0${message.messageId}`);
  const incoming = { ...requester, message, params, request_id };
  const turn = `${keyOf(requester.calling)} ${message.taskId || request_id}`;
  return await requester.drafts.inTurn(turn, async () => {
    const earlier = await earlierOf(incoming);
    if (earlier !== undefined) return earlier;
    if (message.contextId.length > CONTEXT_ID_MAX) {
      const problem = `message.contextId has more than ${CONTEXT_ID_MAX} characters`;
      throw new RequestMalformedError(problem);
    }
    const fresh = { ...incoming, said: readMessage(message, metadata) };
    return message.taskId === "" ? await begin(fresh) : await answer(fresh);
  });
}

/** Returns the task or draft of the same message, if it was sent before. */
async function earlierOf(
  { calling, drafts, request_id }: Incoming,
): Promise<string | undefined> {
  const store = await drafts.store();
  const id = store.draftOf(keyOf(calling), request_id);
  const draft = id === undefined ? undefined : store.get(id);
  if (draft === undefined) return (await callHire("hire.task_of", { request_id }, calling)).task_id;
  // The task of an old draft may have been removed.
  if (draft.state !== "done" || await lookUp(draft.id, calling) !== undefined) return draft.id;
}

/** Creates a task, or a draft for an incomplete request. */
async function begin(incoming: Fresh): Promise<string> {
  const { message, params, calling, toCallback } = incoming;
  const context_id = message.contextId || crypto.randomUUID();
  const callback = await toCallback(params.configuration?.taskPushNotificationConfig, context_id);
  return await proceed(incoming, {
    id: newTaskId(),
    key_id: keyOf(calling),
    context_id,
    state: "open",
    changed_at: "",
    texts: [],
    data: {},
    said: [],
    callbacks: callback === undefined ? [] : [callback],
  });
}

/** Continues a draft. @throws {A2AError} if the task does not wait for an answer. */
async function answer(incoming: Fresh): Promise<string> {
  const { message: { taskId: id, contextId }, calling, drafts, params, toCallback } = incoming;
  const task = await lookUp(id, calling);
  const draft = (await drafts.store()).get(id);
  const own = draft !== undefined && draft.key_id === keyOf(calling);
  if (task === undefined && (!own || draft.state === "done")) {
    throw noSuchTask(id, true);
  }
  if (task !== undefined || !own || draft.state === "cancelled") {
    throw new UnsupportedOperationError(
      `task ${id} accepts no further messages; send a message without taskId to start a new task`,
    );
  }
  if (contextId !== "" && contextId !== draft.context_id) {
    throw new RequestMalformedError("message.contextId is not that of the task");
  }
  const config = params.configuration?.taskPushNotificationConfig;
  const callback = await toCallback(config, draft.context_id);
  return await proceed(incoming, callback === undefined ? draft : withCallback(draft, callback));
}

/** Adds a callback to a draft. @throws {SvcError} conflict if it has too many. */
export function withCallback(draft: Draft, callback: DraftCallback): Draft {
  const others = draft.callbacks.filter((it) => it.id !== callback.id);
  if (others.length >= CALLBACKS_MAX) throw tooManyCallbacks(draft.id);
  return { ...draft, callbacks: [...others, callback] };
}

/** Adds a message to a draft: it becomes a task, or a question to the client. */
async function proceed(incoming: Fresh, before: Draft): Promise<string> {
  const draft = withMessage(before, incoming);
  const { said, calling, drafts, request_id } = incoming;
  const begins = before.said.length === 0;
  const { task_types: offered } = await callHire("hire.capabilities", {}, calling);
  // Programs that name the skill, or send only data, get an error for an invalid request.
  const strict = begins && (said.task_type !== undefined || draft.texts.length === 0);
  const request = strict
    ? strictRequest(draft, said, offered)
    : plainRequest(draft, said.task_type, offered);
  let problem: string | undefined;
  if (request !== undefined) {
    try {
      const task_id = await enqueue(incoming, draft, request);
      if (!begins) (await drafts.store()).put({ ...draft, state: "done" }, request_id);
      return task_id;
    } catch (error) {
      const lacking = error instanceof SvcError && error.code === "validation";
      if (strict || !lacking) throw error;
      problem = withHint(error);
    }
  }
  const task_type = typeof said.task_type === "string" ? said.task_type : draft.task_type;
  const question = problem === undefined
    ? whichSkill(offered)
    : `I need more to begin: ${problem}. Answer with what is missing.`;
  const asked = { ...draft, task_type, said: [...draft.said, toQuestion(draft, question)] };
  if (JSON.stringify(asked).length > MESSAGE_KEPT_MAX) {
    throw problem === undefined ? noSkill(offered) : new RequestMalformedError(problem);
  }
  (await drafts.store()).put(asked, request_id);
  return draft.id;
}

function withMessage(draft: Draft, { message, said }: Fresh): Draft {
  const { id: taskId, context_id: contextId } = draft;
  const { texts, data } = said;
  const extra = { ...asObject(draft.data.extra), ...asObject(data.extra) };
  const merged = { ...draft.data, ...data };
  return {
    ...draft,
    // Keeps the order of two messages in one millisecond.
    changed_at: new Date(Math.max(Date.now(), Date.parse(draft.changed_at) + 1 || 0)).toISOString(),
    texts: [...draft.texts, ...texts],
    data: Object.keys(extra).length === 0 ? merged : { ...merged, extra },
    said: [...draft.said, Message.toJSON({ ...message, taskId, contextId })],
  };
}

function asObject(value: unknown): object {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** Returns the request of a program unchanged. @throws {A2AError} if its skill is not clear. */
function strictRequest(
  { texts, data }: Draft,
  { task_type }: Said,
  offered: readonly string[],
): Record<string, unknown> {
  if (task_type === undefined && offered.length > 1) throw noSkill(offered);
  return toRequest({ texts, data, task_type: task_type ?? offered[0] });
}

/** Returns the request for plain words, if their skill is clear. */
function plainRequest(
  { texts, data, task_type: earlier }: Draft,
  named: unknown,
  offered: readonly string[],
): Record<string, unknown> | undefined {
  const known = named ?? earlier ?? (offered.length === 1 ? offered[0] : undefined);
  const choice = typeof known === "string"
    ? { task_type: known, extra: optionsFor(known, texts) }
    : chooseSkill(texts, offered);
  if (choice === undefined) return undefined;
  const { task_type, extra } = choice;
  const given = { ...extra, ...asObject(data.extra) };
  return toRequest({
    texts: texts.filter((text) => !saysNothingMore(text, offered)),
    data: Object.keys(given).length === 0 ? data : { ...data, extra: given },
    task_type,
  });
}

/**
 * Adds a draft to the queue.
 *
 * @returns the task's id: the draft's, unless a crash interrupted the same message before
 */
async function enqueue(
  { calling, request_id }: Incoming,
  { id, context_id, said, callbacks }: Draft,
  request: Record<string, unknown>,
): Promise<string> {
  const message = said.length === 1 ? said[0] : said;
  const kept = JSON.stringify(message).length <= MESSAGE_KEPT_MAX;
  const client = { request_id, context_id, message: kept ? message : null };
  return (await callHire("hire.enqueue", { request, id, client, callbacks }, calling)).id;
}

function toQuestion({ id, context_id, said }: Draft, text: string): unknown {
  const part: Part = {
    content: { $case: "text", value: text },
    metadata: undefined,
    filename: "",
    mediaType: "",
  };
  return Message.toJSON({
    messageId: `${id}-question-${said.length}`,
    taskId: id,
    contextId: context_id,
    role: Role.ROLE_AGENT,
    parts: [part],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  });
}

function whichSkill(offered: readonly string[]): string {
  return `What should I do? I offer:\n${skillLines(offered)}\n` +
    "Answer with what you want, and with the addresses that it needs.";
}

function noSkill(offered: readonly string[]): Error {
  return new RequestMalformedError(
    `the message does not name a skill. Set one of ${offered.join(", ")}: as task_type in a ` +
      "data part, or as skill_id in the metadata of the message",
  );
}
