/**
 * Hired work, whatever protocol it was asked for by: what is offered, what is taken, how it is
 * followed. Tasks of the operator's own are not seen from here.
 */
import * as z from "zod";
import { SvcError } from "../platform/errors.ts";
import { parseAddress, Refusal } from "../platform/http_get.ts";
import { findArtifact, type FoundArtifact } from "../tasks/artifacts.ts";
import type { CallbackTarget } from "../tasks/callback_store.ts";
import type { ClientQuery, TaskClient } from "../tasks/client_store.ts";
import type { ClientTaskPage, TaskEngine, TaskOrigin } from "../tasks/engine.ts";
import type { TaskLogEntry, TaskRecord, TaskRequest } from "../tasks/task.ts";
import { request_fields, SAYS_NOTHING, saysSomething } from "../verbs/task.ts";
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
  engine(): Promise<TaskEngine>;
}

/** What is offered (product.md, Capabilities record). */
export interface Capabilities {
  version: string;
  task_types: string[];
  budget_usd: number;
  requires_auth: boolean;
}

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
      const [{ path, message }] = parsed.error.issues;
      throw new SvcError("validation", path.length > 0 ? `${path.join(".")}: ${message}` : message);
    }
    const { callback_url, ...request } = parsed.data;
    const { caps } = this.#parts;
    if (!caps.includes(request.task_type)) {
      const got = JSON.stringify(request.task_type);
      throw new SvcError("validation", `task_type must be one of ${caps.join(", ")}; got ${got}`);
    }
    if (callback_url !== undefined) this.checkCallback("callback_url", callback_url);
    return { request, callback_url };
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
      throw new SvcError("validation", `${named}: callbacks are signed with the caller's token`, {
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
   * @param key_id of the token that it was asked for with.
   * @param signal fires when the client has gone: the task is cancelled.
   * @throws {SvcError} as {@linkcode TaskEngine.run}.
   */
  async run(
    accepted: Accepted,
    key_id: string | undefined,
    signal: AbortSignal,
  ): Promise<TaskRecord> {
    const options = { ...this.#options(accepted, key_id), signal };
    return await (await this.#parts.engine()).run(accepted.request, options);
  }

  /**
   * Puts a task in the queue.
   *
   * @param key_id of the token that it was asked for with.
   * @throws {SvcError} as {@linkcode TaskEngine.enqueue}.
   */
  async enqueue(
    accepted: Accepted,
    key_id: string | undefined,
    naming: Naming = {},
  ): Promise<TaskRecord> {
    const options = { ...this.#options(accepted, key_id), ...naming };
    return await (await this.#parts.engine()).enqueue(accepted.request, options);
  }

  #options({ callback_url: url }: Accepted, key_id: string | undefined): TaskOrigin {
    const { timeout_ms } = this.#parts;
    const told = url !== undefined && key_id !== undefined;
    return { timeout_ms, hired: true, callback: told ? { id: "", url, key_id } : undefined };
  }

  /** A hired task's record. @throws {SvcError} not_found. */
  async get(id: string): Promise<TaskRecord> {
    return (await this.find(id)).record;
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
  async cancel(id: string): Promise<TaskRecord> {
    return await (await this.engineOf(id)).cancel(id);
  }

  /** Follows a hired task; see {@linkcode TaskEngine.follow}. @throws {SvcError} not_found. */
  async follow(
    id: string,
    options: { since_seq: number; signal: AbortSignal },
  ): Promise<AsyncIterable<TaskLogEntry>> {
    return (await this.engineOf(id)).follow(id, options);
  }

  /**
   * Finds an artifact of a hired task; see {@linkcode findArtifact}.
   *
   * @throws {SvcError} not_found.
   */
  async artifact(id: string, name: string): Promise<FoundArtifact> {
    return await findArtifact(await this.engineOf(id), id, name);
  }

  /** The engine, if the task is a hired one of it. @throws {SvcError} not_found. */
  async engineOf(id: string): Promise<TaskEngine> {
    return (await this.find(id)).engine;
  }

  /** Finds a hired task. @throws {SvcError} not_found. */
  async find(id: string): Promise<FoundTask> {
    const engine = await this.#parts.engine();
    return { engine, record: await engine.get(id, { hired: true }) };
  }
}
