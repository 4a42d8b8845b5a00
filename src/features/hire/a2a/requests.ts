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
import { findArtifact } from "../../tasks/artifacts.ts";
import type { CallbackTarget } from "../../tasks/callback_store.ts";
import type { TaskClient } from "../../tasks/client_store.ts";
import type { TaskEngine } from "../../tasks/engine.ts";
import { FINAL_EVENTS, hasEnded, type TaskRecord } from "../../tasks/task.ts";
import type { Hirer, Hiring } from "../hiring.ts";
import { askFor, keyOf } from "./asking.ts";
import { type A2aVersion, agentCard } from "./card.ts";
import { toA2aError } from "./errors.ts";
import { toCallback, toConfig } from "./push.ts";
import {
  contextOf,
  historyOf,
  toEnd,
  toTask,
  toUpdate,
  type ViewOptions,
  withoutArtifacts,
} from "./task_view.ts";

/** What the requests need. */
export interface A2aParts {
  hiring: Hiring;
  log: Log;
}

/** The caller and its connection. */
export interface A2aCaller {
  asker: Hirer;
  version: A2aVersion;
  /** The address at which the client reached surface B, without a slash at the end. */
  base_url: string;
  /** Fires when the client has disconnected: nobody waits any longer, and the task continues. */
  signal: AbortSignal;
}

/** Errors that are not caused by the request. */
const LATER: ReadonlySet<SvcCode> = new Set(["shutting_down", "unavailable"]);
const PAGE_SIZE = 50;
const PAGE_SIZE_MAX = 100;
/** The task states that tasks can have here, with their equivalents in the engine. */
const LISTED: Partial<Record<TaskState, { status?: TaskRecord["status"]; cancelled?: boolean }>> = {
  [TaskState.TASK_STATE_UNSPECIFIED]: {},
  [TaskState.TASK_STATE_SUBMITTED]: { status: "queued" },
  [TaskState.TASK_STATE_WORKING]: { status: "running" },
  [TaskState.TASK_STATE_COMPLETED]: { status: "completed" },
  [TaskState.TASK_STATE_FAILED]: { status: "failed", cancelled: false },
  [TaskState.TASK_STATE_CANCELED]: { status: "failed", cancelled: true },
};

export class A2aRequests implements A2ARequestHandler {
  readonly #hiring: Hiring;
  readonly #log: Log;
  readonly #caller: A2aCaller;
  /** Why the request cannot be answered now; the client may send it again later. */
  unavailable: SvcError | undefined;

  constructor({ hiring, log }: A2aParts, caller: A2aCaller) {
    this.#hiring = hiring;
    this.#log = log;
    this.#caller = caller;
  }

  getAgentCard(): Promise<AgentCard> {
    const { base_url } = this.#caller;
    return Promise.resolve(AgentCard.fromJSON(agentCard({ ...this.#hiring.offer, base_url })));
  }

  getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return Promise.reject(new UnsupportedOperationError("this agent has only a public card"));
  }

  // ── tasks ────────────────────────────────────────────────────────────────────────────────────

  sendMessage(params: SendMessageRequest): Promise<Task> {
    return this.#translated(async () => {
      const { id } = await this.#ask(params);
      const { historyLength, returnImmediately = false } = params.configuration ?? {};
      if (!returnImmediately) await this.#waitFor(id);
      return await this.#task(id, historyLength);
    });
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<StreamResponse> {
    try {
      const { id } = await this.#ask(params);
      yield* this.#stream(id, params.configuration?.historyLength);
    } catch (error) {
      throw this.#toError(error);
    }
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse> {
    try {
      if (hasEnded(await this.#hiring.get(id, this.#caller.asker))) {
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
      try {
        await this.#hiring.cancel(id, this.#caller.asker);
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
      const { engine, tasks, total, next_cursor } = await this.#hiring.listOf({
        key_id: keyOf(this.#caller.asker),
        ...wanted,
        context_id: contextId || undefined,
        changed_since: statusTimestampAfter ? isoTime(statusTimestampAfter) : undefined,
        limit: pageSize,
        cursor: pageToken || undefined,
      });
      const { historyLength = 0, includeArtifacts = false } = params;
      const shown = includeArtifacts ? tasks : tasks.map(withoutArtifacts);
      return {
        tasks: await Promise.all(shown.map((it) => this.#shown(engine, it, historyLength))),
        nextPageToken: next_cursor ?? "",
        pageSize,
        totalSize: total,
      };
    });
  }

  #ask(params: SendMessageRequest): Promise<TaskRecord> {
    return askFor(this.#hiring, params, {
      asker: this.#caller.asker,
      toCallback: (config, context_id) => config && this.#callback(config, context_id),
    });
  }

  async #waitFor(id: string): Promise<void> {
    const { signal, asker } = this.#caller;
    const steps = await this.#hiring.follow(id, asker, { since_seq: 0, signal });
    for await (const { event } of steps) {
      if (FINAL_EVENTS.has(event)) return;
    }
  }

  /** Yields the current task, then its changes, until its end. */
  async *#stream(id: string, historyLength: number | undefined): AsyncGenerator<StreamResponse> {
    const engine = await this.#hiring.engineOf(id, this.#caller.asker);
    const since_seq = (await engine.steps(id)).at(-1)?.seq ?? 0;
    const value = await this.#shown(engine, await engine.get(id), historyLength);
    yield { payload: { $case: "task", value } };
    const { signal } = this.#caller;
    const options = this.#view(engine, id, contextOf(id, await engine.client(id)));
    for await (const entry of engine.follow(id, { since_seq, signal })) {
      if (FINAL_EVENTS.has(entry.event)) return yield* await toEnd(await engine.get(id), options);
      const update = toUpdate(id, entry, options);
      if (update !== undefined) yield update;
    }
  }

  async #task(id: string, historyLength: number | undefined): Promise<Task> {
    const { engine, record } = await this.#hiring.find(id, this.#caller.asker);
    return await this.#shown(engine, record, historyLength);
  }

  async #shown(
    engine: TaskEngine,
    record: TaskRecord,
    historyLength: number | undefined,
  ): Promise<Task> {
    const { id } = record;
    const client = await engine.client(id);
    const task = await toTask(record, this.#view(engine, id, contextOf(id, client)));
    if (historyLength === 0) return task;
    const history = historyOf(client, id, await engine.steps(id));
    return { ...task, history: history.slice(historyLength === undefined ? 0 : -historyLength) };
  }

  #view(engine: TaskEngine, id: string, context_id: string): ViewOptions {
    const { base_url } = this.#caller;
    const open = async (name: string) => await (await findArtifact(engine, id, name)).open();
    return { base_url, context_id, open };
  }

  // ── push notifications ───────────────────────────────────────────────────────────────────────

  createTaskPushNotificationConfig(
    config: TaskPushNotificationConfig,
  ): Promise<TaskPushNotificationConfig> {
    return this.#translated(async () => {
      const { taskId } = config;
      const { engine, client } = await this.#own(taskId);
      const callback = this.#callback(config, client.context_id);
      await engine.setCallback(taskId, callback);
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
      const { engine } = await this.#own(taskId);
      await engine.removeCallback(taskId, id);
    });
  }

  async #configs(taskId: string): Promise<TaskPushNotificationConfig[]> {
    const { engine } = await this.#own(taskId);
    const callbacks = await engine.callbacks(taskId);
    return callbacks.map((it) => toConfig(taskId, it)).filter((it) => it !== undefined);
  }

  /** Returns a task of this client only: a configuration may contain secrets of its client. */
  async #own(taskId: string): Promise<{ engine: TaskEngine; client: TaskClient }> {
    if (!this.#hiring.offer.requires_auth) throw new PushNotificationNotSupportedError();
    const engine = await this.#hiring.engineOf(taskId, this.#caller.asker);
    const client = await engine.client(taskId);
    if (client?.key_id === keyOf(this.#caller.asker)) return { engine, client };
    throw new TaskNotFoundError(`you have no task "${taskId}"`);
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

  #callback(config: TaskPushNotificationConfig, context_id: string): CallbackTarget {
    if (!this.#hiring.offer.requires_auth) throw new PushNotificationNotSupportedError();
    this.#hiring.checkCallback("push notification config: url", config.url);
    return toCallback(config, {
      ...this.#caller,
      key_id: keyOf(this.#caller.asker),
      context_id,
    });
  }
}

function isoTime(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new RequestMalformedError("statusTimestampAfter must be ISO 8601");
  return new Date(ms).toISOString();
}
