/**
 * Hired work, whatever protocol it was asked for by: what is offered, what is taken, how it is
 * followed. Tasks of the operator's own are not seen from here.
 */
import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { parseAddress, Refusal } from "../../net/http_get.ts";
import { findArtifact, type FoundArtifact } from "../tasks/artifacts.ts";
import type { CallbackTarget } from "../tasks/callback_store.ts";
import type { ClientQuery, TaskClient } from "../tasks/client_store.ts";
import type { ClientTaskPage, TaskEngine, TaskOrigin } from "../tasks/engine.ts";
import type { TaskLogEntry, TaskRecord, TaskRequest } from "../tasks/task.ts";
import { request_fields, SAYS_NOTHING, saysSomething } from "../tasks/verbs.ts";
import type { HireTokens } from "./tokens.ts";

export interface HiringParts {
  version: string;
  /** The task types that are advertised and accepted. */
  caps: readonly string[];
  /** What one task may take. */
  timeout_ms: number;
  /** What one task may cost. */
  budget_usd(): number;
  tokens: HireTokens;
  /** Whether every hirer sees the tasks of all others. */
  shared(): boolean;
  engine(): Promise<TaskEngine>;
}

/** What is offered (product.md, Capabilities record). */
export interface Capabilities {
  version: string;
  task_types: string[];
  budget_usd: number;
  requires_auth: boolean;
}

/** Who asks: the key id of their token; undefined where none is needed. */
export type Hirer = string | undefined;

/** A request that will do. */
export interface Accepted {
  request: TaskRequest;
  /** Where its end is to be reported to. */
  callback_url?: string;
}

/** A hired task as it stands, and the engine that has it. */
export interface FoundTask {
  engine: TaskEngine;
  record: TaskRecord;
}

/** How a client names the task it asks for, and where it wants to be told of its end. */
export interface Naming {
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

  /** What is offered, and whether a token is needed for it. */
  get offer(): Omit<Capabilities, "budget_usd"> {
    const { version, caps, tokens } = this.#parts;
    return { version, task_types: [...caps], requires_auth: tokens.required };
  }

  capabilities(): Capabilities {
    const { version, task_types, requires_auth } = this.offer;
    return { version, task_types, budget_usd: this.#parts.budget_usd(), requires_auth };
  }

  /**
   * Looks at a request; members it does not know are left out.
   *
   * @throws {SvcError} validation, naming the member and what it may be.
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
   * Looks at an address that a task's end is to be reported to. Whether it may be reached is decided
   * when it is.
   *
   * @param named what the client calls it.
   * @throws {SvcError} validation.
   */
  checkCallback(named: string, address: string): void {
    if (!this.#parts.tokens.required) {
      throw new SvcError("validation", `${named}: callbacks need a token to sign them with`, {
        hint: "set SVC_SERVE_TOKENS, or follow the task at /api/task/{id}/events",
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
   * @param signal fires when the client has disconnected: the task is cancelled.
   * @throws {SvcError} as {@linkcode TaskEngine.run}.
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
   * Puts a task in the queue.
   *
   * @throws {SvcError} as {@linkcode TaskEngine.enqueue}.
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

  /** A hired task's record. @throws {SvcError} not_found. */
  async get(id: string, asker: Hirer): Promise<TaskRecord> {
    return (await this.find(id, asker)).record;
  }

  /**
   * The tasks of one client, and the engine that has them; see {@linkcode TaskEngine.listOf}.
   *
   * @throws {SvcError} validation.
   */
  async listOf(query: ClientQuery): Promise<ClientTaskPage & { engine: TaskEngine }> {
    const engine = await this.#parts.engine();
    return { engine, ...await engine.listOf(query) };
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
  async artifact(id: string, asker: Hirer, name: string): Promise<FoundArtifact> {
    return await findArtifact(await this.engineOf(id, asker), id, name);
  }

  /** The engine, if the task is a hired one of it. @throws {SvcError} not_found. */
  async engineOf(id: string, asker: Hirer): Promise<TaskEngine> {
    return (await this.find(id, asker)).engine;
  }

  /**
   * Finds a hired task: one of the asker's own, or anyone's where hirers share.
   *
   * @throws {SvcError} not_found, in the same words for another's task as for none.
   */
  async find(id: string, asker: Hirer): Promise<FoundTask> {
    const { engine: open, shared, tokens } = this.#parts;
    const engine = await open();
    if (shared()) return { engine, record: await engine.get(id, { hired: true }) };
    // Whose a task from before there were owners is can be told only where one alone may hire.
    const owned_by = (owner: Hirer) => owner === undefined ? tokens.count <= 1 : owner === asker;
    return { engine, record: await engine.get(id, { hired: true, owned_by }) };
  }
}
