/**
 * Hired work, independent of the protocol: what is offered and accepted, and how to follow it. The
 * operator's own tasks are not visible here.
 */
import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { parseAddress, Refusal } from "../../net/http_get.ts";
import type { CallbackTarget } from "../tasks/callback_store.ts";
import type { ClientQuery, TaskClient } from "../tasks/client_store.ts";
import type { ClientTaskPage, TaskEngine, TaskOrigin } from "../tasks/engine.ts";
import type { Quota } from "../tasks/quota.ts";
import type { TaskRecord, TaskRequest } from "../tasks/task.ts";
import { request_fields, SAYS_NOTHING, saysSomething } from "../tasks/verbs.ts";
import type { capabilitiesSchema } from "./schemas.ts";
import { KeyedTasks, type NamedTask } from "./keyed_tasks.ts";
import type { HireTokens } from "./tokens.ts";

export interface HiringParts {
  version: string;
  /** The advertised and accepted task types. */
  caps: readonly string[];
  /** The time limit of one task. */
  timeout_ms: number;
  /** Returns the budget of one task. */
  budget_usd(): number;
  tokens: HireTokens;
  /** Whether every hirer sees all hired tasks. */
  shared(): boolean;
  /** Returns what each hirer may use; without tokens, all together. */
  quota(): Quota;
  engine(): Promise<TaskEngine>;
}

/** The offer (product.md, Capabilities record). */
export type Capabilities = z.output<ReturnType<typeof capabilitiesSchema>>;

/** The key id of the caller's token; undefined if no token is needed. */
export type Hirer = string | undefined;

export interface Accepted {
  request: TaskRequest;
  /** The address for the callback at its end. */
  callback_url?: string;
}

export interface FoundTask {
  engine: TaskEngine;
  record: TaskRecord;
}

/** The client's name for the task, and its callbacks; the token says whose they are. */
export interface Naming {
  /** The id of the task; default: a new one. */
  id?: string;
  client?: Omit<TaskClient, "key_id">;
  callbacks: Omit<CallbackTarget, "key_id">[];
}

/** The connection of a client that waits for its task. */
export interface Connection {
  /** Fires when the client disconnects. */
  signal: AbortSignal;
  idempotency_key?: string;
}

/** Returns the key under which a caller's tasks are stored: empty if no token is needed. */
export function keyOf(hirer: Hirer): string {
  return hirer ?? "";
}

const Request = z.object({ ...request_fields(), callback_url: z.string().optional() })
  .refine(saysSomething, SAYS_NOTHING);

export class Hiring {
  readonly #parts: HiringParts;
  readonly #keyed = new KeyedTasks();

  constructor(parts: HiringParts) {
    this.#parts = parts;
  }

  capabilities(): Capabilities {
    const { version, caps, budget_usd, tokens } = this.#parts;
    return {
      version,
      task_types: [...caps],
      budget_usd: budget_usd(),
      requires_auth: tokens.required,
    };
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
   * Validates a callback's address. Sending decides whether it may be reached.
   *
   * @param named the client's name for the field
   * @throws {SvcError} validation
   */
  checkCallback(named: string, address: string): void {
    this.#requireSigned(named);
    try {
      parseAddress(address);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new SvcError("validation", `${named}: ${error.message}`);
    }
  }

  #requireSigned(named: string): void {
    if (this.#parts.tokens.required) return;
    throw new SvcError("validation", `${named}: callbacks need a token to sign them with`, {
      hint: "set SVC_SERVE_TOKENS on the server, or follow the task at /api/task/{id}/events",
    });
  }

  /**
   * Runs a task and waits for it. It is cancelled when its client disconnects, unless another one
   * with the same key waits for it.
   *
   * @throws {SvcError} like {@linkcode Hiring.accept} and {@linkcode TaskEngine.run}; conflict when
   * the key belongs to another request
   */
  async run(
    body: unknown,
    hirer: Hirer,
    { signal, idempotency_key }: Connection,
  ): Promise<TaskRecord> {
    const run = async (stop: AbortSignal, named?: NamedTask) => {
      const accepted = this.accept(body);
      const options = { ...this.#options(accepted, hirer), ...named, signal: stop };
      return await (await this.#parts.engine()).run(accepted.request, options);
    };
    if (idempotency_key === undefined) return await run(signal);
    const engine = await this.#parts.engine();
    const request = { engine, key_id: keyOf(hirer), idempotency_key, body };
    return await this.#keyed.run(request, signal, (named, stop) => run(stop, named));
  }

  /**
   * Adds a task to the queue.
   *
   * @param idempotency_key names the task instead of `naming`
   * @throws {SvcError} like {@linkcode Hiring.accept} and {@linkcode TaskEngine.enqueue};
   * validation for a callback; conflict when the key belongs to another request
   */
  async enqueue(
    body: unknown,
    hirer: Hirer,
    naming: Naming,
    idempotency_key?: string,
  ): Promise<TaskRecord> {
    if (idempotency_key === undefined) return await this.#enqueue(body, hirer, naming);
    const engine = await this.#parts.engine();
    const request = { engine, key_id: keyOf(hirer), idempotency_key, body };
    return await this.#keyed.enqueue(request, async (named) => {
      const accepted = this.accept(body);
      return await engine.enqueue(accepted.request, {
        ...this.#options(accepted, hirer),
        ...named,
      });
    });
  }

  async #enqueue(body: unknown, hirer: Hirer, { id, ...naming }: Naming): Promise<TaskRecord> {
    const accepted = this.accept(body);
    for (const { url } of naming.callbacks) this.checkCallback("url", url);
    const key_id = keyOf(hirer);
    const [callback, ...others] = naming.callbacks.map((it) => ({ ...it, key_id }));
    const named = naming.client && { client: { ...naming.client, key_id }, callback };
    const options = { ...this.#options(accepted, hirer), id, ...named };
    const engine = await this.#parts.engine();
    const record = await engine.enqueue(accepted.request, options);
    for (const other of others) await engine.setCallback(record.id, other);
    return record;
  }

  #options({ callback_url: url }: Accepted, owner: Hirer): TaskOrigin {
    const { timeout_ms, quota } = this.#parts;
    const told = url !== undefined && owner !== undefined;
    const callback = told ? { id: "", url, key_id: owner } : undefined;
    return { timeout_ms, hired: true, owner, callback, quota: quota() };
  }

  /**
   * Lists the tasks of one client; see {@linkcode TaskEngine.listOf}.
   *
   * @throws {SvcError} validation
   */
  async listOf(query: Omit<ClientQuery, "key_id">, hirer: Hirer): Promise<ClientTaskPage> {
    return await (await this.#parts.engine()).listOf({ ...query, key_id: keyOf(hirer) });
  }

  /** Returns the id of the task that a client's request has created, if it still exists. */
  async taskOf(request_id: string, hirer: Hirer): Promise<string | undefined> {
    const engine = await this.#parts.engine();
    const id = await engine.taskOf({ key_id: keyOf(hirer), request_id });
    if (id === undefined) return undefined;
    try {
      return (await this.find(id, hirer)).record.id;
    } catch (error) {
      if (error instanceof SvcError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /**
   * Finds a hired task: the caller's own, or anyone's if hirers share tasks.
   *
   * @throws {SvcError} not_found, with the same message for another client's task as for a missing
   * one
   */
  async find(id: string, hirer: Hirer): Promise<FoundTask> {
    const { engine: open, shared, tokens } = this.#parts;
    const engine = await open();
    if (shared()) return { engine, record: await engine.get(id, { hired: true }) };
    // The owner of a task without one is certain only if just one token may hire.
    const owned_by = (owner: Hirer) => owner === undefined ? tokens.count <= 1 : owner === hirer;
    return { engine, record: await engine.get(id, { hired: true, owned_by }) };
  }

  /**
   * Finds a hired task that the caller requested: its callbacks may contain the caller's secrets.
   *
   * @throws {SvcError} not_found
   */
  async findOwn(
    id: string,
    hirer: Hirer,
  ): Promise<{ engine: TaskEngine } & Pick<TaskClient, "key_id" | "context_id">> {
    this.#requireSigned("callbacks");
    const { engine } = await this.find(id, hirer);
    const client = await engine.client(id);
    if (client?.key_id === keyOf(hirer)) return { ...client, engine };
    throw new SvcError("not_found", `you have no task "${id}"`);
  }
}
