/** The operations of A2A on hired tasks, for one request of one client. */
import {
  AgentCard,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
} from "@a2a-js/sdk";
import {
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import { type SvcCode, SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Calling } from "../../../verbs/call.ts";
import { contentOf } from "../../../verbs/content.ts";
import { FINAL_EVENTS, hasEnded, type TaskRecord } from "../../tasks/task.ts";
import { callHire, follow, lookUp } from "../calls.ts";
import { askFor, keyOf, withCallback } from "./send_message.ts";
import { type A2aVersion, agentCard } from "./card.ts";
import type { Draft, DraftCallback, DraftQuery } from "./draft_store.ts";
import type { Drafts } from "./drafts.ts";
import { toA2aError } from "./errors.ts";
import { pageOfAll, type Pager } from "./pages.ts";
import { toCallback, toConfig } from "./push.ts";
import {
  contextOf,
  draftTask,
  historyOf,
  toEnd,
  toTask,
  toUpdate,
  type ViewOptions,
  withoutArtifacts,
} from "./task_view.ts";

export interface A2aParts {
  drafts: Drafts;
  log: Log;
}

/** A task of the engine, or a draft, which clients also see as a task. */
type Found = { record: TaskRecord } | { draft: Draft };

interface CallbackHolder {
  context_id: string;
  callbacks: DraftCallback[];
  set(callback: DraftCallback): unknown;
  remove(id: string): unknown;
}

export interface A2aCaller {
  /** Its call ends when the client disconnects; the task continues. */
  calling: Calling;
  version: A2aVersion;
  /** The address of surface B for this client, without a trailing slash. */
  base_url: string;
}

/** Errors after which the same request may succeed later. */
const LATER: ReadonlySet<SvcCode> = new Set(["shutting_down", "unavailable", "budget_exceeded"]);
const PAGE_SIZE = 50;
const PAGE_SIZE_MAX = 100;
/** The listed states, with their equivalents in the engine and among drafts. */
const LISTED: Partial<Record<TaskState, Listed>> = {
  [TaskState.TASK_STATE_UNSPECIFIED]: { tasks: {}, drafts: {} },
  [TaskState.TASK_STATE_SUBMITTED]: { tasks: { status: "queued" } },
  [TaskState.TASK_STATE_WORKING]: { tasks: { status: "running" } },
  [TaskState.TASK_STATE_INPUT_REQUIRED]: { drafts: { cancelled: false } },
  [TaskState.TASK_STATE_COMPLETED]: { tasks: { status: "completed" } },
  [TaskState.TASK_STATE_FAILED]: { tasks: { status: "failed", cancelled: false } },
  [TaskState.TASK_STATE_CANCELED]: {
    tasks: { status: "failed", cancelled: true },
    drafts: { cancelled: true },
  },
};

interface Listed {
  tasks?: { status?: TaskRecord["status"]; cancelled?: boolean };
  drafts?: { cancelled?: boolean };
}

export class A2aRequests implements A2ARequestHandler {
  readonly #calling: Calling;
  readonly #drafts: Drafts;
  readonly #log: Log;
  readonly #caller: A2aCaller;
  /** Why the request cannot be answered now; the client may send it again later. */
  unavailable: SvcError | undefined;

  constructor({ drafts, log }: A2aParts, caller: A2aCaller) {
    this.#calling = caller.calling;
    this.#drafts = drafts;
    this.#log = log;
    this.#caller = caller;
  }

  async getAgentCard(): Promise<AgentCard> {
    const { base_url } = this.#caller;
    const offer = await callHire("hire.capabilities", {}, this.#calling);
    return AgentCard.fromJSON(agentCard({ ...offer, base_url }));
  }

  getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return Promise.reject(new UnsupportedOperationError("this agent has only a public card"));
  }

  sendMessage(params: SendMessageRequest): Promise<Task> {
    return this.#translated(async () => {
      const id = await this.#ask(params);
      const { historyLength, returnImmediately = false } = params.configuration ?? {};
      const found = await this.#find(id);
      if (!returnImmediately && "record" in found) await this.#waitFor(id);
      return await this.#task(id, historyLength);
    });
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<StreamResponse> {
    try {
      const id = await this.#ask(params);
      yield* this.#stream(id, params.configuration?.historyLength);
    } catch (error) {
      throw this.#toError(error);
    }
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse> {
    try {
      const found = await this.#find(id);
      if ("draft" in found ? found.draft.state === "cancelled" : hasEnded(found.record)) {
        throw new UnsupportedOperationError(`task ${id} has ended; get the task instead`);
      }
      yield* this.#stream(id, undefined);
    } catch (error) {
      throw this.#toError(error);
    }
  }

  getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    return this.#translated(() => this.#task(id, historyLength));
  }

  cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    return this.#translated(async () => {
      const found = await this.#find(id);
      if ("draft" in found && await this.#cancelDraft(found.draft)) {
        return await this.#task(id, undefined);
      }
      try {
        await callHire("hire.cancel", { task_id: id }, this.#calling);
      } catch (error) {
        if (!(error instanceof SvcError) || error.code !== "conflict") throw error;
        throw new TaskNotCancelableError(error.message);
      }
      return await this.#task(id, undefined);
    });
  }

  listTasks(params: ListTasksRequest): Promise<ListTasksResponse> {
    return this.#translated(async () => {
      const { contextId, status, pageSize = PAGE_SIZE, pageToken, statusTimestampAfter } = params;
      if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > PAGE_SIZE_MAX) {
        throw new RequestMalformedError(`pageSize must be 1 to ${PAGE_SIZE_MAX}`);
      }
      const wanted = LISTED[status];
      if (wanted === undefined) return { tasks: [], nextPageToken: "", pageSize, totalSize: 0 };
      const page = await pageOfAll(
        this.#pagers(wanted, {
          context_id: contextId || undefined,
          changed_since: statusTimestampAfter ? isoTime(statusTimestampAfter) : undefined,
        }),
        { limit: pageSize, token: pageToken || undefined, changedAt },
      );
      const { historyLength = 0, includeArtifacts = false } = params;
      const shown = page.items.map((it) =>
        "draft" in it || includeArtifacts ? it : { ...it, record: withoutArtifacts(it.record) }
      );
      return {
        tasks: await Promise.all(shown.map((it) => this.#shown(it, historyLength))),
        nextPageToken: page.next_cursor ?? "",
        pageSize,
        totalSize: page.total,
      };
    });
  }

  /** Returns the lists of a client's tasks and drafts. */
  #pagers(
    { tasks, drafts }: Listed,
    among: Pick<DraftQuery, "context_id" | "changed_since">,
  ): Pager<Found>[] {
    const calling = this.#calling;
    const ofTasks: Pager<Found> = async (limit, cursor) => {
      const page = await callHire("hire.list", { ...among, ...tasks, limit, cursor }, calling);
      return { ...page, items: page.tasks.map((record) => ({ record })) };
    };
    const ofDrafts: Pager<Found> = async (limit, cursor) => {
      const store = await this.#drafts.store();
      const page = store.list({ ...among, ...drafts, key_id: keyOf(calling) }, limit, cursor);
      const items = [];
      for (const draft of page.drafts) {
        // A crash may leave a draft open that has become a task.
        const task = draft.state === "open" && await lookUp(draft.id, calling);
        if (task) store.put({ ...draft, state: "done" });
        else items.push({ draft });
      }
      return { ...page, items };
    };
    return [...(tasks === undefined ? [] : [ofTasks]), ...(drafts === undefined ? [] : [ofDrafts])];
  }

  /** Cancels an open draft. @returns false if it has become a task meanwhile. */
  async #cancelDraft({ id, key_id }: Draft): Promise<boolean> {
    return await this.#drafts.inTurn(`${key_id} ${id}`, async () => {
      const store = await this.#drafts.store();
      const draft = store.get(id);
      if (draft?.state !== "open") return draft?.state === "cancelled";
      store.put({ ...draft, state: "cancelled", changed_at: new Date().toISOString() });
      return true;
    });
  }

  #ask(params: SendMessageRequest): Promise<string> {
    return askFor(params, {
      calling: this.#calling,
      drafts: this.#drafts,
      toCallback: async (config, context_id) => config && await this.#callback(config, context_id),
    });
  }

  async #waitFor(id: string): Promise<void> {
    for await (const { event } of await follow(id, 0, this.#calling)) {
      if (FINAL_EVENTS.has(event)) return;
    }
  }

  /** Yields the current task, then its changes, until its end. */
  async *#stream(id: string, historyLength: number | undefined): AsyncGenerator<StreamResponse> {
    const found = await this.#find(id);
    if ("draft" in found) {
      // An interrupted task ends the stream: nothing happens until its client answers.
      const value = await this.#shown(found, historyLength);
      return yield { payload: { $case: "task", value } };
    }
    const of_task = { task_id: id };
    const { steps } = await callHire("hire.steps", of_task, this.#calling);
    const since_seq = steps.at(-1)?.seq ?? 0;
    const value = await this.#task(id, historyLength);
    yield { payload: { $case: "task", value } };
    const options = this.#view(id, value.contextId);
    for await (const entry of await follow(id, since_seq, this.#calling)) {
      if (FINAL_EVENTS.has(entry.event)) {
        const ended = await callHire("hire.get", of_task, this.#calling);
        return yield* await toEnd(ended, options);
      }
      const update = toUpdate(id, entry, options);
      if (update !== undefined) yield update;
    }
  }

  async #task(id: string, historyLength: number | undefined): Promise<Task> {
    return await this.#shown(await this.#find(id), historyLength);
  }

  /**
   * Finds a task or draft. A draft that has become a task is that task, even if a crash left it
   * open.
   *
   * @throws {SvcError} not_found, also for another client's
   */
  async #find(id: string): Promise<Found> {
    try {
      return { record: await callHire("hire.get", { task_id: id }, this.#calling) };
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== "not_found") throw error;
      const draft = await this.#drafts.seenBy(keyOf(this.#calling), id);
      if (draft === undefined) throw error;
      return { draft };
    }
  }

  async #shown(found: Found, historyLength: number | undefined): Promise<Task> {
    if ("draft" in found) return withHistory(draftTask(found.draft), historyLength);
    const { id } = found.record;
    const { client } = await callHire("hire.client", { task_id: id }, this.#calling);
    const task = await toTask(found.record, this.#view(id, contextOf(id, client)));
    if (historyLength === 0) return task;
    const { steps } = await callHire("hire.steps", { task_id: id }, this.#calling);
    return withHistory({ ...task, history: historyOf(client, id, steps) }, historyLength);
  }

  #view(task_id: string, context_id: string): ViewOptions {
    const { base_url } = this.#caller;
    const open = async (name: string) =>
      await (await contentOf("hire.artifact", { task_id, name }, this.#calling)).open();
    return { base_url, context_id, open };
  }

  createTaskPushNotificationConfig(
    config: TaskPushNotificationConfig,
  ): Promise<TaskPushNotificationConfig> {
    return this.#translated(async () => {
      const { taskId } = config;
      const own = await this.#own(taskId);
      const callback = await this.#callback(config, own.context_id);
      await own.set(callback);
      return toConfig(taskId, callback)!;
    });
  }

  getTaskPushNotificationConfig(
    { taskId, id }: GetTaskPushNotificationConfigRequest,
  ): Promise<TaskPushNotificationConfig> {
    return this.#translated(async () => {
      const configs = await this.#configs(taskId);
      const config = id === "" ? configs[0] : configs.find((it) => it.id === id);
      if (config !== undefined) return config;
      throw new TaskNotFoundError(`task ${taskId} has no push notification config "${id}"`);
    });
  }

  listTaskPushNotificationConfigs(
    { taskId }: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.#translated(async () => {
      return { configs: await this.#configs(taskId), nextPageToken: "" };
    });
  }

  deleteTaskPushNotificationConfig(
    { taskId, id }: DeleteTaskPushNotificationConfigRequest,
  ): Promise<void> {
    return this.#translated(async () => {
      await (await this.#own(taskId)).remove(id);
    });
  }

  async #configs(taskId: string): Promise<TaskPushNotificationConfig[]> {
    const { callbacks } = await this.#own(taskId);
    return callbacks.map((it) => toConfig(taskId, it)).filter((it) => it !== undefined);
  }

  /** Returns the callbacks of this client's own task: they may contain its secrets. */
  async #own(taskId: string): Promise<CallbackHolder> {
    await this.#requireAuth();
    const found = await this.#find(taskId);
    const calling = this.#calling;
    const others = new TaskNotFoundError(`you have no task "${taskId}"`);
    if ("draft" in found) {
      if (found.draft.key_id !== keyOf(calling)) throw others;
      return await this.#callbacksOfDraft(found.draft);
    }
    const of_task = { task_id: taskId };
    const own = await callHire("hire.callbacks", of_task, calling).catch((error) => {
      throw error instanceof SvcError && error.code === "not_found" ? others : error;
    });
    return {
      ...own,
      set: (callback) => callHire("hire.set_callback", { ...of_task, callback }, calling),
      remove: (id) => callHire("hire.remove_callback", { ...of_task, callback_id: id }, calling),
    };
  }

  async #callbacksOfDraft(draft: Draft): Promise<CallbackHolder> {
    const store = await this.#drafts.store();
    // It may have changed since; nothing waits between reading and writing.
    const current = () => store.get(draft.id) ?? draft;
    const without = (id: string) => current().callbacks.filter((it) => it.id !== id);
    return {
      context_id: draft.context_id,
      callbacks: current().callbacks,
      set: (callback) => store.put(withCallback(current(), callback)),
      remove: (id) => store.put({ ...current(), callbacks: without(id) }),
    };
  }

  /** Runs work and converts its errors. @throws {Error} one of A2A. */
  async #translated<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#toError(error);
    }
  }

  #toError(thrown: unknown): Error {
    if (thrown instanceof SvcError && LATER.has(thrown.code)) this.unavailable = thrown;
    return toA2aError(thrown, this.#log);
  }

  async #callback(
    config: TaskPushNotificationConfig,
    context_id: string,
  ): Promise<DraftCallback> {
    await this.#requireAuth();
    const named = { url: config.url, field: "push notification config: url" };
    await callHire("hire.check_callback", named, this.#calling);
    return toCallback(config, { ...this.#caller, context_id });
  }

  /** The hirer's token signs notifications. */
  async #requireAuth(): Promise<void> {
    const { requires_auth } = await callHire("hire.capabilities", {}, this.#calling);
    if (!requires_auth) throw new PushNotificationNotSupportedError();
  }
}

function withHistory(task: Task, length: number | undefined): Task {
  const history = length === 0 ? [] : task.history.slice(length === undefined ? 0 : -length);
  return { ...task, history };
}

function changedAt(found: Found): string {
  if ("draft" in found) return found.draft.changed_at;
  const { completed_at, started_at, created_at } = found.record;
  return completed_at ?? started_at ?? created_at;
}

function isoTime(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new RequestMalformedError("statusTimestampAfter must be ISO 8601");
  return new Date(ms).toISOString();
}
