/** What svc asks of Restate's admin API: to register workers, and whether all is well. */
import * as z from "zod";
import { SvcError } from "../../../protocol/errors.ts";
import { explainFetch } from "../../../net/http_get.ts";
import type { Env } from "../../../os/paths.ts";
import type { TasksConfig } from "../config.ts";
import { restateKey } from "./open.ts";

const ANSWER_MS = 10_000;

const Deployment = z.object({ id: z.string(), services: z.array(z.object({ name: z.string() })) });

export interface Registered {
  id: string;
  services: string[];
}

interface Answer {
  status: number;
  value: unknown;
  /** When the server answered by its own clock, in milliseconds since 1970. */
  at: number | undefined;
}

export class RestateAdmin {
  readonly url: string;
  readonly #headers: Record<string, string>;

  /** @throws {SvcError} validation when the variable with the key is not set */
  constructor(config: TasksConfig, env: Env) {
    this.url = config.restate_admin_url.replace(/\/+$/, "");
    const key = restateKey(config, env);
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  }

  /**
   * Registers the worker at `uri`; new tasks then go there.
   *
   * @param force replaces what an older svc has registered at the same address
   * @throws {SvcError} unavailable; conflict; permission_denied
   */
  async register(uri: string, force: boolean): Promise<Registered> {
    const { status, value } = await this.#ask("POST", "deployments", { uri, force });
    if (status < 300) {
      const { id, services } = Deployment.parse(value);
      return { id, services: services.map(({ name }) => name) };
    }
    const reason = reasonOf(value);
    if (status === 409) {
      throw new SvcError("conflict", `${uri} is registered with other services: ${reason}`, {
        hint: "give this version another address, or replace the other one with --force",
      });
    }
    if (reason.includes("401 Unauthorized")) {
      throw new SvcError(
        "permission_denied",
        `the worker at ${uri} refuses the signature of Restate at ${this.url}`,
        {
          hint:
            "restate_public_keys under [tasks] on the worker's machine must have the server's " +
            "key; the server's log names it when it starts with a request identity key",
        },
      );
    }
    throw new SvcError("unavailable", `Restate at ${this.url} cannot register ${uri}: ${reason}`, {
      hint: `can the machine of restate-server reach ${uri}?`,
    });
  }

  /** Returns the server's version, and how far its clock is ahead. @throws {SvcError} unavailable. */
  async version(): Promise<{ version: string; ahead_ms: number | undefined }> {
    const asked = Date.now();
    const { value, at } = await this.#ask("GET", "version");
    const { version } = z.object({ version: z.string() }).parse(value);
    const now = (asked + Date.now()) / 2;
    return { version, ahead_ms: at === undefined ? undefined : at - now };
  }

  /** Returns the registered services. @throws {SvcError} unavailable. */
  async services(): Promise<string[]> {
    const { value } = await this.#ask("GET", "services");
    const { services } = z.object({ services: z.array(z.object({ name: z.string() })) })
      .parse(value);
    return services.map(({ name }) => name);
  }

  async #ask(method: string, path: string, input?: unknown): Promise<Answer> {
    try {
      const response = await fetch(`${this.url}/${path}`, {
        method,
        headers: { ...this.#headers, "content-type": "application/json" },
        body: input === undefined ? undefined : JSON.stringify(input),
        redirect: "manual",
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      const text = await response.text();
      if (response.status === 401 || response.status === 403) {
        throw new SvcError(
          "permission_denied",
          `Restate at ${this.url} refuses the key: ${response.status}`,
          { hint: "set the variable that restate_key_env under [tasks] names to a valid key" },
        );
      }
      const date = Date.parse(response.headers.get("date") ?? "");
      const at = Number.isNaN(date) ? undefined : date;
      return { status: response.status, value: text === "" ? undefined : JSON.parse(text), at };
    } catch (error) {
      if (error instanceof SvcError) throw error;
      throw new SvcError("unavailable", `Restate at ${this.url}: ${explainFetch(error)}`, {
        hint: "start restate-server, or correct restate_admin_url under [tasks] in daemon.toml",
      });
    }
  }
}

function reasonOf(value: unknown): string {
  const read = z.object({ message: z.string() }).safeParse(value);
  return read.success ? read.data.message : JSON.stringify(value);
}
