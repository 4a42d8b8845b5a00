/**
 * Turns messages into tasks, once, however often a message is sent. A request in plain words that
 * lacks something becomes a draft, which its client completes with further messages.
 */
import { Message, type Part, Role, type SendMessageRequest } from "@a2a-js/sdk";
import { RequestMalformedError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { sha256Hex } from "../../../base/sha256.ts";
import { SvcError, withHint } from "../../../protocol/errors.ts";
import type { CallbackTarget } from "../../tasks/callback_store.ts";
import type { TaskClient } from "../../tasks/client_store.ts";
import { newTaskId, noSuchTask, tooManyCallbacks } from "../../tasks/common.ts";
import { CALLBACKS_MAX } from "../../tasks/task.ts";
import type { Hirer, Hiring } from "../hiring.ts";
import { skillLines } from "./card.ts";
import { chooseSkill, optionsFor, saysNothingMore } from "./choice.ts";
import type { Draft } from "./draft_store.ts";
import type { Drafts } from "./drafts.ts";
import { readMessage, type Said, toRequest } from "./message.ts";

/** What tasks are made with. */
export interface AskParts {
  hiring: Hiring;
  drafts: Drafts;
}

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

/** Longer messages are not kept for the history, and not for a draft, in characters. */
const MESSAGE_KEPT_MAX = 64 * 1024;
const CONTEXT_ID_MAX = 256;

/** A message, and who sent it. */
interface Incoming extends Asker {
  message: Message;
  params: SendMessageRequest;
  said: Said;
  /** Identifies the message for its sender. */
  request_id: string;
}

/**
 * Creates the task that a message requests, or continues the draft that it answers. The same
 * message id from the same client again is the same task: a client that did not receive the answer
 * may send its message once more.
 *
 * @returns the id of the task or draft
 * @throws {A2AError} or {SvcError} for an invalid request
 */
export async function askFor(
  parts: AskParts,
  params: SendMessageRequest,
  asker: Asker,
): Promise<string> {
  const { message, metadata = {} } = params;
  if (!message?.messageId) throw new RequestMalformedError("message.messageId is required");
  if (message.contextId.length > CONTEXT_ID_MAX) {
    throw new RequestMalformedError(`message.contextId has more than ${CONTEXT_ID_MAX} characters`);
  }
  const said = readMessage(message, metadata);
  // Further messages to a task are told apart from those that create one.
  const request_id = await sha256Hex(`${message.taskId}\0${message.messageId}`);
  const incoming = { ...asker, message, params, said, request_id };
  const turn = `${keyOf(asker.asker)} ${message.taskId || request_id}`;
  return await parts.drafts.inTurn(turn, async () => {
    const earlier = await earlierOf(parts, incoming);
    if (earlier !== undefined) return earlier;
    return message.taskId === "" ? await begin(parts, incoming) : await answer(parts, incoming);
  });
}

/** Returns the task or draft that the same message has created or continued before. */
async function earlierOf(
  { hiring, drafts }: AskParts,
  { asker, request_id }: Incoming,
): Promise<string | undefined> {
  const key_id = keyOf(asker);
  const store = await drafts.store();
  const id = store.draftOf(key_id, request_id);
  const draft = id === undefined ? undefined : store.get(id);
  if (draft === undefined) return (await hiring.taskOf({ key_id, request_id }, asker))?.id;
  // The task of an old draft may have been removed.
  if (draft.state !== "done" || await hiring.lookUp(draft.id, asker) !== undefined) return draft.id;
}

/** Creates a task, or a draft for a request that lacks something. */
async function begin(parts: AskParts, incoming: Incoming): Promise<string> {
  const { message, params, asker, toCallback } = incoming;
  const context_id = message.contextId || crypto.randomUUID();
  const callback = toCallback(params.configuration?.taskPushNotificationConfig, context_id);
  return await proceed(parts, incoming, {
    id: newTaskId(),
    key_id: keyOf(asker),
    context_id,
    state: "open",
    changed_at: "",
    texts: [],
    data: {},
    said: [],
    callbacks: callback === undefined ? [] : [callback],
  });
}

/** Continues a draft. @throws {A2AError} when the task is not one that waits for an answer. */
async function answer(parts: AskParts, incoming: Incoming): Promise<string> {
  const { message: { taskId: id, contextId }, asker, params, toCallback } = incoming;
  const task = await parts.hiring.lookUp(id, asker);
  const draft = (await parts.drafts.store()).get(id);
  const own = draft !== undefined && draft.key_id === keyOf(asker);
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
  const callback = toCallback(config, draft.context_id);
  return await proceed(
    parts,
    incoming,
    callback === undefined ? draft : withCallback(draft, callback),
  );
}

/** Returns a draft with a further callback. @throws {SvcError} conflict when it has too many. */
export function withCallback(draft: Draft, callback: CallbackTarget): Draft {
  const others = draft.callbacks.filter((it) => it.id !== callback.id);
  if (others.length >= CALLBACKS_MAX) throw tooManyCallbacks(draft.id);
  return { ...draft, callbacks: [...others, callback] };
}

/** Adds a message to a draft: it becomes a task, or a question to the client. */
async function proceed(parts: AskParts, incoming: Incoming, before: Draft): Promise<string> {
  const draft = withMessage(before, incoming);
  const { said, asker, request_id } = incoming;
  const { hiring, drafts } = parts;
  const begins = before.said.length === 0;
  const offered = hiring.offer.task_types;
  // Programs that name the skill, or send data only, get an error for an invalid request.
  const strict = begins && (said.task_type !== undefined || draft.texts.length === 0);
  const request = strict
    ? strictRequest(draft, said, offered)
    : plainRequest(draft, said.task_type, offered);
  let problem: string | undefined;
  if (request !== undefined) {
    try {
      const task_id = await enqueue(parts, draft, request, { asker, request_id });
      if (!begins) (await drafts.store()).put({ ...draft, state: "done" }, request_id);
      return task_id;
    } catch (error) {
      const lacking = error instanceof SvcError && error.code === "validation";
      if (strict || !lacking) throw error;
      problem = withHint(error);
    }
  }
  const task_type = typeof said.task_type === "string" ? said.task_type : draft.task_type;
  const question = problem === undefined ? whichSkill(offered) : whatIsMissing(problem);
  const asked = { ...draft, task_type, said: [...draft.said, toQuestion(draft, question)] };
  if (JSON.stringify(asked).length > MESSAGE_KEPT_MAX) {
    throw problem === undefined ? noSkill(offered) : new RequestMalformedError(problem);
  }
  (await drafts.store()).put(asked, request_id);
  return draft.id;
}

/** Returns a draft with a further message of its client. */
function withMessage(draft: Draft, { message, said }: Incoming): Draft {
  const { id: taskId, context_id: contextId } = draft;
  const { texts, data } = said;
  const extra = { ...asObject(draft.data.extra), ...asObject(data.extra) };
  const merged = { ...draft.data, ...data };
  return {
    ...draft,
    // Two messages of one millisecond are still in order.
    changed_at: new Date(Math.max(Date.now(), Date.parse(draft.changed_at) + 1 || 0)).toISOString(),
    texts: [...draft.texts, ...texts],
    data: Object.keys(extra).length === 0 ? merged : { ...merged, extra },
    said: [...draft.said, Message.toJSON({ ...message, taskId, contextId })],
  };
}

function asObject(value: unknown): object {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** Returns the request of a program, as it is. @throws {A2AError} when its skill is not clear. */
function strictRequest(
  { texts, data }: Draft,
  { task_type }: Said,
  offered: readonly string[],
): Record<string, unknown> {
  if (task_type === undefined && offered.length > 1) throw noSkill(offered);
  return toRequest({ texts, data, task_type: task_type ?? offered[0] });
}

/** Returns the request that plain words make; undefined when their skill is not clear. */
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
 * @returns the id of the task: the draft's, unless a crash interrupted the same message before
 */
async function enqueue(
  { hiring }: AskParts,
  { id: draft_id, key_id, context_id, said, callbacks: [callback, ...others] }: Draft,
  request: Record<string, unknown>,
  { asker, request_id }: { asker: Hirer; request_id: string },
): Promise<string> {
  const message = said.length === 1 ? said[0] : said;
  const kept = JSON.stringify(message).length <= MESSAGE_KEPT_MAX;
  const client: TaskClient = { key_id, request_id, context_id, message: kept ? message : null };
  const naming = { id: draft_id, client, callback };
  const { id } = await hiring.enqueue(hiring.accept(request), asker, naming);
  const engine = others.length === 0 ? undefined : await hiring.engineOf(id, asker);
  for (const other of others) await engine!.setCallback(id, other);
  return id;
}

// ── questions ──────────────────────────────────────────────────────────────────────────────────

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

function whatIsMissing(problem: string): string {
  return `I need more to begin: ${problem}. Answer with what is missing.`;
}

function noSkill(offered: readonly string[]): Error {
  return new RequestMalformedError(
    `the message does not name a skill. Set one of ${offered.join(", ")}: as task_type in a ` +
      "data part, or as skill_id in the metadata of the message",
  );
}
