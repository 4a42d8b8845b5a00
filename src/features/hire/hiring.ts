/**
 * Hired work, independent of the protocol: what is offered and accepted, and how to follow it. The
 * operator's own tasks are not visible here.
 */
import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { parseAddress, Refusal } from "../../net/http_get.ts";
import { findArtifact } from "../tasks/artifacts.ts";
import type { CallbackTarget } from "../tasks/callback_store.ts";
import type { ClientQuery, TaskClient } from "../tasks/client_store.ts";
import type { ClientTaskPage, TaskEngine, TaskOrigin } from "../tasks/engine.ts";
import type { TaskLogEntry, TaskRecord, TaskRequest } from "../tasks/task.ts";
import type { Content } from "../../verbs/content.ts";
import { request_fields, SAYS_NOTHING, saysSomething } from "../tasks/verbs.ts";
import type { HireTokens } from "./tokens.ts";

export interface HiringParts {
  version: string;
  /** The task types that are advertised and accepted. */
  caps: readonly string[];
  /** The time limit of one task. */
  timeout_ms: number;
  /** Returns the budget of one task. */
  budget_usd(): number;
  tokens: HireTokens;
  /** Whether every hirer sees all hired tasks. */
  shared(): boolean;
  engine(): Promise<TaskEngine>;
}

/** The offer (product.md, Capabilities record). */
export interface Capabilities {
  version: string;
  task_types: string[];
  budget_usd: number;
  requires_auth: boolean;
}

/** The caller: the key id of its token; undefined when no token is needed. */
export type Hirer = string | undefined;

/** A valid request. */
export interface Accepted {
  request: TaskRequest;
  /** The address for the callback at its end. */
  callback_url?: string;
}

/** A hired task and its engine. */
export interface FoundTask {
  engine: TaskEngine;
  record: TaskRecord;
}

/** The client's id for the task, and its callback. */
export interface Naming {
  /** The id of the task; default: a new one. */
  id?: string;
  client?: TaskClient;
  callback?: CallbackTarget;
}

const Request = z.object({ ...request_fields(), callback_url: z.string().optional() })
  .refine(saysSomething, SAYS_NOTHING);

export class Hiring {
  readonly #parts: HiringParts;

  constructor(parts: HiringParts) {
    this.#parts = parts;
  }

  /** The offer, and whether a token is needed. */
  get offer(): Omit<Capabilities, "budget_usd"> {
    const { version, caps, tokens } = this.#parts;
    return { version, task_types: [...caps], requires_auth: tokens.required };
  }

  capabilities(): Capabilities {
    const { version, task_types, requires_auth } = this.offer;
    return { version, task_types, budget_usd: this.#parts.budget_usd(), requires_auth };
  }

  /**
   * Validates a request; unknown fields are ignored.
   *
   * @throws {SvcError} validation, naming the field and its allowed values
   */
  accept(body: unknown): Accepted {
    const parsed = Request.safeParse(body);
    if (!parsed.success) {
      const { issues } = parsed.error;
      if (issues.some(({ path }) => path[0] === "task_type")) {
        throw this.#wrongType((body as { task_type?: unknown }).task_type);
      }
      const [{ path, message }] = issues;
      throw new SvcError("validation", path.length > 0 ? `${path.join(".")}: ${message}` : message);
    }
    const { callback_url, ...request } = parsed.data;
    if (!this.#parts.caps.includes(request.task_type)) throw this.#wrongType(request.task_type);
    if (callback_url !== undefined) this.checkCallback("callback_url", callback_url);
    return { request, callback_url };
  }

  #wrongType(got: unknown): SvcError {
    const allowed = this.#parts.caps.join(", ");
    const shown = got === undefined ? "none" : JSON.stringify(got);
    return new SvcError("validation", `task_type must be one of ${allowed}; got ${shown}`);
  }

  /**
   * Validates the address of a callback. Whether it may be reached is decided when the callback is
   * sent.
   *
   * @param named the client's name for the field
   * @throws {SvcError} validation
   */
  checkCallback(named: string, address: string): void {
    if (!this.#parts.tokens.required) {
      throw new SvcError("validation", `${named}: callbacks need a token to sign them with`, {
        hint: "set SVC_SERVE_TOKENS on the server, or follow the task at /api/task/{id}/events",
      });
    }
    try {
      parseAddress(address);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new SvcError("validation", `${named}: ${error.message}`);
    }
  }

  /**
   * Runs a task and waits for it.
   *
   * @param signal fires when the client has disconnected: the task is cancelled
   * @throws {SvcError} like {@linkcode TaskEngine.run}
   */
  async run(
    accepted: Accepted,
    asker: Hirer,
    signal: AbortSignal,
  ): Promise<TaskRecord> {
    const options = { ...this.#options(accepted, asker), signal };
    return await (await this.#parts.engine()).run(accepted.request, options);
  }

  /**
   * Adds a task to the queue.
   *
   * @throws {SvcError} like {@linkcode TaskEngine.enqueue}
   */
  async enqueue(
    accepted: Accepted,
    asker: Hirer,
    naming: Naming = {},
  ): Promise<TaskRecord> {
    const options = { ...this.#options(accepted, asker), ...naming };
    return await (await this.#parts.engine()).enqueue(accepted.request, options);
  }

  #options({ callback_url: url }: Accepted, owner: Hirer): TaskOrigin {
    const { timeout_ms } = this.#parts;
    const told = url !== undefined && owner !== undefined;
    const callback = told ? { id: "", url, key_id: owner } : undefined;
    return { timeout_ms, hired: true, owner, callback };
  }

  /** Returns a hired task's record. @throws {SvcError} not_found. */
  async get(id: string, asker: Hirer): Promise<TaskRecord> {
    return (await this.find(id, asker)).record;
  }

  /**
   * Lists the tasks of one client, with their engine; see {@linkcode TaskEngine.listOf}.
   *
   * @throws {SvcError} validation
   */
  async listOf(query: ClientQuery): Promise<ClientTaskPage & { engine: TaskEngine }> {
    const engine = await this.#parts.engine();
    return { engine, ...await engine.listOf(query) };
  }

  /** Returns the task that a client's request has created, if it is still there. */
  async taskOf(
    request: Pick<TaskClient, "key_id" | "request_id">,
    asker: Hirer,
  ): Promise<TaskRecord | undefined> {
    const id = await (await this.#parts.engine()).taskOf(request);
    return id === undefined ? undefined : await this.lookUp(id, asker);
  }

  /** Returns a hired task's record, if there is such a task for the caller. */
  async lookUp(id: string, asker: Hirer): Promise<TaskRecord | undefined> {
    try {
      return await this.get(id, asker);
    } catch (error) {
      if (error instanceof SvcError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /** Whether each hirer sees the tasks of all others. */
  get shared(): boolean {
    return this.#parts.shared();
  }

  /** Cancels a hired task. @throws {SvcError} not_found; conflict when it has ended otherwise. */
  async cancel(id: string, asker: Hirer): Promise<TaskRecord> {
    return await (await this.engineOf(id, asker)).cancel(id);
  }

  /** Follows a hired task; see {@linkcode TaskEngine.follow}. @throws {SvcError} not_found. */
  async follow(
    id: string,
    asker: Hirer,
    options: { since_seq: number; signal: AbortSignal },
  ): Promise<AsyncIterable<TaskLogEntry>> {
    return (await this.engineOf(id, asker)).follow(id, options);
  }

  /**
   * Finds an artifact of a hired task; see {@linkcode findArtifact}.
   *
   * @throws {SvcError} not_found.
   */
  async artifact(id: string, asker: Hirer, name: string): Promise<Content> {
    return await findArtifact(await this.engineOf(id, asker), id, name);
  }

  /** Returns the engine if it has the hired task. @throws {SvcError} not_found. */
  async engineOf(id: string, asker: Hirer): Promise<TaskEngine> {
    return (await this.find(id, asker)).engine;
  }

  /**
   * Finds a hired task: the caller's own, or anyone's if hirers share tasks.
   *
   * @throws {SvcError} not_found, with the same message for another client's task as for a missing
   * one
   */
  async find(id: string, asker: Hirer): Promise<FoundTask> {
    const { engine: open, shared, tokens } = this.#parts;
    const engine = await open();
    if (shared()) return { engine, record: await engine.get(id, { hired: true }) };
    // The owner of a task from before there were owners is certain only if just one token may hire.
    const owned_by = (owner: Hirer) => owner === undefined ? tokens.count <= 1 : owner === asker;
    return { engine, record: await engine.get(id, { hired: true, owned_by }) };
  }
}
