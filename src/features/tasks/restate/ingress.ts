/**
 * Calls the handlers of tasks over Restate's ingress. Its errors do not name the server's address,
 * because hirers see them.
 */
import { delay } from "@std/async";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import { explainFetch } from "../../../net/http_get.ts";
import {
  type Api,
  type Args,
  type Result,
  type Run,
  runKey,
  runService,
  type Settled,
} from "./api.ts";

export interface IngressOptions {
  url: string;
  /** Sent as a bearer token. */
  key?: string;
  /** Default: 20 s. */
  answer_ms?: number;
}

/** How long a handler may take, which includes that no worker is there for a while. */
const ANSWER_MS = 20_000;
const AGAIN_MS = 10;
/** Until an attempt that has just been sent can be waited for. */
const UNKNOWN_MS = 5_000;
const RETRY_AFTER_S = 5;

export class Ingress {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #answer_ms: number;

  constructor({ url, key, answer_ms = ANSWER_MS }: IngressOptions) {
    this.#answer_ms = answer_ms;
    this.#url = url.replace(/\/+$/, "");
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  }

  /**
   * Calls a handler of an object and returns its result.
   *
   * @throws {SvcError} unavailable when Restate, or a worker, does not answer; permission_denied
   */
  async call<S extends keyof Api, H extends keyof Api[S] & string>(
    service: S,
    object_key: string,
    handler: H,
    ...[input = null]: Args<S, H> | []
  ): Promise<Awaited<Result<S, H>>> {
    const path = `${service}/${encodeURIComponent(object_key)}/${handler}`;
    const response = await this.#post(path, input, AbortSignal.timeout(this.#answer_ms));
    return response as Awaited<Result<S, H>>;
  }

  /**
   * Waits for the end of an attempt, also over outages of Restate.
   *
   * @returns undefined when the attempt is unknown
   * @throws the signal's reason
   * @throws {SvcError} permission_denied
   */
  async ended(
    run: Pick<Run, "id" | "run">,
    task_type: string,
    signal: AbortSignal,
  ): Promise<Settled | undefined> {
    const path = `restate/workflow/${runService(task_type)}/${runKey(run)}/attach`;
    const since = performance.now();
    for (let wait_ms = AGAIN_MS;; wait_ms = Math.min(wait_ms * 2, 1_000)) {
      try {
        return await this.#get(path, signal) as Settled;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SvcError)) throw error;
        const unknown = error.code === "not_found";
        if (unknown && performance.now() - since > UNKNOWN_MS) return undefined;
        if (!unknown && error.code !== "unavailable") throw error;
        await delay(wait_ms, { signal });
      }
    }
  }

  /** Returns the services that workers have registered. @throws {SvcError} unavailable. */
  async services(): Promise<string[]> {
    const health = await this.#get("restate/health", AbortSignal.timeout(this.#answer_ms));
    return (health as { services?: string[] }).services ?? [];
  }

  #get(path: string, signal: AbortSignal): Promise<unknown> {
    return this.#send(path, { headers: this.#headers, signal });
  }

  #post(path: string, input: unknown, signal: AbortSignal): Promise<unknown> {
    const headers = { ...this.#headers, "content-type": "application/json" };
    return this.#send(path, { method: "POST", headers, signal, body: JSON.stringify(input) });
  }

  async #send(path: string, init: RequestInit): Promise<unknown> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.#url}/${path}`, { ...init, redirect: "manual" });
      text = await response.text();
    } catch (error) {
      const late = error instanceof DOMException && error.name === "TimeoutError";
      throw unavailable(
        late
          ? `no worker answered Restate within ${this.#answer_ms / 1000} s`
          : `Restate cannot be reached: ${explainFetch(error)}`,
        late
          ? "start a worker with `svc task worker`, or look at those that run"
          : "start restate-server, or correct restate_url under [tasks] in daemon.toml",
      );
    }
    if (response.ok) return text === "" ? undefined : parsed(text);
    throw this.#errorOf(response.status, reasonOf(text));
  }

  #errorOf(status: number, reason: string): SvcError {
    if (status === 404) {
      if (!reason.includes("register")) return new SvcError("not_found", `Restate: ${reason}`);
      return unavailable(
        "no worker is registered with Restate",
        "start a worker with `svc task worker --register`",
      );
    }
    if (status === 401 || status === 403) {
      return new SvcError("permission_denied", `Restate: ${status} ${reason}`, {
        hint: "set the variable that restate_key_env under [tasks] names to a valid key",
      });
    }
    return unavailable(`Restate: ${status} ${reason}`, "look at the logs of restate-server");
  }
}

function unavailable(message: string, hint: string): SvcError {
  return new SvcError("unavailable", message, { hint, details: { retry_after_s: RETRY_AFTER_S } });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unavailable(`Restate sent no JSON: ${messageOf(error)}`, "is restate_url its ingress?");
  }
}

function reasonOf(text: string): string {
  try {
    const { message } = JSON.parse(text);
    if (typeof message === "string") return message;
  } catch {
    // A proxy may answer with a page.
  }
  return text.slice(0, 200);
}
