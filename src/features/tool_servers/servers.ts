/**
 * The tool servers in the operator's policy and, if allowed, in those of projects. A server is
 * shared by sessions, but never by a trusted and an untrusted one.
 */
import { messageOf, SvcError, withHint } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import { nearestOf } from "../../base/nearest.ts";
import type { Env } from "../../os/paths.ts";
import type { Trust } from "../../protocol/events.ts";
import { abortable } from "@std/async";
import type { Clock } from "../../base/clock.ts";
import type { ProjectApprovals } from "./approvals.ts";
import { credentialsOf, masker } from "./credentials.ts";
import type { OpenLogin } from "./login.ts";
import { type Login, type Logins, loginSecrets } from "./logins.ts";
import type {
  ExternalScope,
  Offer,
  OfferedTool,
  ProjectServers,
  ServerItem,
  ServerProblem,
  ServerScope,
} from "./offer.ts";
import type { FoundProgram } from "../../os/own_programs.ts";
import type { Policy, ServerEntry } from "./policy.ts";
import { ProjectPolicy } from "./project_policy.ts";
import { resultText } from "./result.ts";
import { ExternalServer, type Patience, type Tested } from "./server.ts";
import { type Confine, targetOf } from "./target.ts";

export interface ExternalPolicy {
  /** The operator's policy. */
  policy: Policy;
  allow_project: boolean;
  /** The variables that a project's servers may receive. */
  project_env: readonly string[];
}

export interface ExternalParts {
  env: Env;
  clock: Clock;
  log: Log;
  /** Called with the credentials in use, to mask them in the log. */
  onSecrets(secrets: readonly string[]): void;
  /** Finds a program by its name in the configuration. */
  find(program: string): FoundProgram | undefined;
  confine: Confine;
  approvals: Pick<ProjectApprovals, "has" | "add">;
  logins: Logins;
}

/** A login that a person must approve, or the last one, which clients may still wait for. */
interface WaitingLogin {
  cancel: AbortController;
  /** Resolves when it is saved, rejects when it fails; then nothing is left of it. */
  done: Promise<void>;
}

interface Definition {
  entry: ServerEntry;
  scope: ServerScope;
  workdir?: string;
  problem?: string;
  /** Its variables or headers, with credentials. */
  values: Record<string, string>;
  /** The values that must be masked. */
  secrets: readonly string[];
}

const TRUSTS: readonly Trust[] = ["trusted", "untrusted"];

export class ExternalServers {
  readonly #parts: ExternalParts;
  #policy: ExternalPolicy;
  #projects = new Map<string, ProjectPolicy>();
  /** By definition and scope; see {@linkcode ExternalServers.#server}. */
  #servers = new Map<string, ExternalServer>();
  #retired: ExternalServer[] = [];
  /** By server name. */
  #logins = new Map<string, WaitingLogin>();
  #closed = false;

  constructor(parts: ExternalParts, policy: ExternalPolicy) {
    this.#parts = parts;
    this.#policy = policy;
  }

  /** Switches to another policy: servers that it changes or removes end after their calls. */
  configure(policy: ExternalPolicy): void {
    this.#policy = policy;
    this.#projects.clear();
    const kept = new Set(
      policy.policy.servers.flatMap((entry) => TRUSTS.map((trust) => keyOf({ entry }, trust))),
    );
    for (const key of this.#servers.keys()) if (!kept.has(key)) this.#retire(key);
  }

  /**
   * Returns the tools that the scope may use, sorted by server and name, the names of all servers,
   * and why tools are missing.
   *
   * @param options.only one server's name; default: all
   * @param options.patience how long to wait for each
   * @throws {SvcError} not_found for a server that is in no policy
   * @throws the signal's reason
   */
  async tools(
    scope: ExternalScope,
    signal: AbortSignal,
    { only, patience = "limit" }: { only?: string; patience?: Patience } = {},
  ): Promise<Offer> {
    const { definitions, problems, project } = await this.#definitions(scope);
    const wanted = only === undefined ? definitions : [find(definitions, only)];
    const lists = await Promise.all(wanted.map(async (definition) => {
      const { entry: { name, enabled }, problem } = definition;
      if (!enabled) return [];
      try {
        if (problem !== undefined) throw new Error(problem);
        const server = this.#server(definition, scope.trust);
        const { tools, problems: missing } = await server.tools(signal, patience);
        for (const each of missing) {
          problems.push({ server: name, message: `tool server ${name}: ${each}` });
        }
        return tools.map((tool): OfferedTool => ({ server, scope: definition.scope, tool }));
      } catch (error) {
        signal.throwIfAborted();
        const message = error instanceof SvcError ? withHint(error) : messageOf(error);
        problems.push({ server: name, message });
        return [];
      }
    }));
    const offered = lists.flat().sort((a, b) =>
      compare(a.server.entry.name, b.server.entry.name) || compare(a.tool.name, b.tool.name)
    );
    const servers = definitions.map(({ entry }) => entry.name);
    problems.sort((a, b) => compare(a.server, b.server));
    return { offered, servers, problems, project };
  }

  /** Lists the servers that the scope may use, without starting any. */
  async list(
    scope: ExternalScope,
  ): Promise<{ items: ServerItem[]; problems: ServerProblem[]; project?: ProjectServers }> {
    const { definitions, problems, project } = await this.#definitions(scope);
    const items = await Promise.all(definitions.map(async (definition): Promise<ServerItem> => {
      const { entry, scope, problem } = definition;
      const login = scope === "operator" && entry.transport === "http"
        ? await this.#parts.logins.get(entry)
        : undefined;
      const { name, transport, trust, enabled } = entry;
      const made = TRUSTS.map((trust) => this.#servers.get(keyOf(definition, trust)))
        .filter((server) => server !== undefined);
      const broken = made.find((server) => server.breaker.state !== "closed");
      return {
        name,
        scope,
        transport,
        trust,
        enabled,
        problem,
        connected: made.filter((server) => server.connected).length,
        breaker: broken?.breaker.state ?? "closed",
        breaker_until: broken?.breaker.retry_at,
        tools: made.find((server) => server.remembered !== undefined)?.remembered?.length,
        logged_in: login && true,
      };
    }));
    return { items, problems, project };
  }

  /** Returns the servers in a project's file, if it has any and they are allowed. */
  async project(workdir: string): Promise<ProjectServers | undefined> {
    const problems: ServerProblem[] = [];
    const { project } = await this.#definitions({ trust: "trusted", workdir }, problems);
    const [problem] = problems.filter(({ server }) => server === "");
    if (problem !== undefined) throw new SvcError("conflict", problem.message);
    return project;
  }

  /** Reports whether a person has approved servers of the project. */
  async approved(workdir: string): Promise<boolean> {
    const { project } = await this.#definitions({ trust: "trusted", workdir });
    return project?.approved === true;
  }

  /**
   * Approves a project's servers permanently.
   *
   * @param sha256 of the text that a person has reviewed
   */
  async approveProject(workdir: string, sha256: string): Promise<void> {
    await this.#parts.approvals.add(workdir, sha256);
  }

  /**
   * Connects to a server, lists its tools, and closes the connection.
   *
   * @throws {SvcError} not_found for a name that is in no policy; conflict for a server that is
   * disabled or lacks a credential; internal or timeout if it does not respond correctly
   */
  async test(name: string, scope: ExternalScope, signal: AbortSignal): Promise<Tested> {
    return await (await this.#usable(name, scope)).test(signal);
  }

  /**
   * Calls a tool as a turn does, with the same limits, breaker and credentials, and declines the
   * server's questions.
   *
   * @returns the output with credentials masked
   * @throws {SvcError} like {@linkcode ExternalServers.test}; also not_found for an unknown tool
   * @throws the signal's reason
   */
  async call(
    { server: name, tool, args }: { server: string; tool: string; args: Record<string, unknown> },
    scope: ExternalScope,
    signal: AbortSignal,
  ): Promise<{ ok: boolean; output: string }> {
    const server = await this.#usable(name, scope);
    const names = (await server.tools(signal, "limit")).tools.map((it) => it.name);
    if (!names.includes(tool)) {
      throw unknown(`tool ${JSON.stringify(tool)} of ${name}`, tool, names);
    }
    const result = await server.call(tool, args, { signal, answer_forms: false });
    return { ok: result.isError !== true, output: server.mask(resultText(result)) };
  }

  /**
   * Begins a login at one of the operator's servers, and cancels an earlier one.
   *
   * @returns the page for the person; undefined if the server requires no login
   * @throws {SvcError} like {@linkcode ExternalServers.test}; also conflict for a program, a
   * project's server and one with a configured credential
   */
  async login(
    name: string,
    scope: ExternalScope,
  ): Promise<Pick<OpenLogin, "url" | "open_url" | "expires_at"> | undefined> {
    const definition = await this.#found(name, scope);
    const { entry, values, secrets, workdir } = definition;
    if (entry.transport !== "http" || workdir !== undefined) {
      const what = workdir === undefined ? "is a program on this machine" : "belongs to a project";
      throw new SvcError(
        "conflict",
        `tool server ${name} ${what}; only the operator's servers at an address have logins`,
      );
    }
    if (Object.keys(values).some((header) => header.toLowerCase() === "authorization")) {
      throw new SvcError("conflict", `tool server ${name} has a credential in policy.yaml`, {
        hint: "remove auth_env, or the header authorization, to log in instead",
      });
    }
    const secret_env = entry.oauth?.client_secret_env;
    const client_secret = secret_env === undefined ? undefined : this.#parts.env(secret_env);
    if (secret_env !== undefined && client_secret === undefined) {
      throw new SvcError(
        "conflict",
        `tool server ${name}: oauth.client_secret_env names the variable ${secret_env}, which is not set in the daemon's environment`,
      );
    }
    if (this.#closed) throw new SvcError("shutting_down", "the daemon is stopping");
    const known = client_secret === undefined ? secrets : [...secrets, client_secret];
    this.#parts.onSecrets(known);
    const mask = masker(known);
    // The server may repeat what it was sent.
    const masked = (error: unknown): never => {
      if (!(error instanceof SvcError)) throw error;
      const { code, message, hint } = error;
      throw new SvcError(code, mask(message), { hint, cause: error });
    };
    const earlier = this.#cancelLogin(name, "another login was started");
    const cancel = new AbortController();
    const begin = async () => {
      // Both may listen on the port that the entry names.
      await earlier;
      const { beginLogin } = await import("./login.ts");
      try {
        const begun = await beginLogin({
          entry,
          headers: values,
          client_secret,
          scope: this.#parts.logins.lacking.get(name),
          signal: cancel.signal,
        });
        return begun && { ...begun, done: begun.done.catch(masked) };
      } catch (error) {
        return masked(error);
      }
    };
    const beginning = begin();
    const end = async () => {
      const login = await (await beginning)?.done;
      if (login === undefined) return;
      cancel.signal.throwIfAborted();
      this.#parts.onSecrets(loginSecrets(login));
      await this.#parts.logins.save(entry, login);
      this.#parts.logins.lacking.delete(name);
      this.#reconnect(name);
    };
    // From now on the next login and a stop can cancel it.
    const waiting = { cancel, done: end() };
    waiting.done.catch(() => {});
    this.#logins.set(name, waiting);
    let begun: OpenLogin | undefined;
    try {
      return begun = await beginning;
    } finally {
      if (begun === undefined && this.#logins.get(name) === waiting) this.#logins.delete(name);
    }
  }

  /**
   * Waits until the person has approved a login.
   *
   * @throws {SvcError} not_found if none has begun, or why it failed
   * @throws the signal's reason
   */
  async loginEnd(name: string, signal: AbortSignal): Promise<void> {
    const waiting = this.#logins.get(name);
    if (waiting === undefined) {
      throw new SvcError("not_found", `no login for ${name} is pending`, {
        hint: "start one with mcp.login",
      });
    }
    await abortable(waiting.done, signal);
  }

  /** Removes the login at a server. @returns whether there was one */
  async logout(name: string): Promise<boolean> {
    await this.#cancelLogin(name, "somebody logged out");
    const removed = await this.#parts.logins.remove(name);
    this.#reconnect(name);
    return removed;
  }

  /** Resolves when nothing is left of it. */
  async #cancelLogin(name: string, why: string): Promise<void> {
    const waiting = this.#logins.get(name);
    this.#logins.delete(name);
    waiting?.cancel.abort(new SvcError("conflict", `the login was cancelled: ${why}`));
    await waiting?.done.catch(() => {});
  }

  /** Makes the next use of an operator's server connect anew. */
  #reconnect(name: string): void {
    for (const key of this.#servers.keys()) {
      const [workdir, , entry] = JSON.parse(key);
      if (workdir === null && entry.name === name) this.#retire(key);
    }
  }

  /** Stops all servers; resolves when nothing is left of them. */
  async close(): Promise<void> {
    this.#closed = true;
    const names = [...this.#logins.keys()];
    await Promise.all(names.map((name) => this.#cancelLogin(name, "the daemon is stopping")));
    await Promise.all([...this.#servers.values(), ...this.#retired].map((it) => it.close()));
  }

  async #definitions(
    { trust, workdir }: ExternalScope,
    problems: ServerProblem[] = [],
  ): Promise<{ definitions: Definition[]; problems: ServerProblem[]; project?: ProjectServers }> {
    const { policy, allow_project, project_env } = this.#policy;
    let project: ProjectServers | undefined;
    const own = policy.servers.map((entry) => this.#definition(entry));
    const definitions = [...own];
    if (allow_project && workdir !== undefined) {
      const { entries, ...found } = await this.#project(workdir, problems);
      if (entries.length > 0) project = { ...found, runs: runsOf(entries) };
      for (const entry of entries) {
        if (own.some(({ entry: { name } }) => name === entry.name)) {
          const message =
            `tool server ${entry.name}: the operator already has a server with that name`;
          problems.push({ server: entry.name, message });
        } else if (found.approved) {
          definitions.push(this.#definition(entry, workdir, project_env));
        } else {
          const problem = `tool server ${entry.name}: ${found.file} needs a person's approval`;
          definitions.push({ entry, scope: "project", workdir, problem, values: {}, secrets: [] });
        }
      }
    }
    // Untrusted sessions get only the tools of untrusted servers (product.md, rule 2).
    const usable = definitions.filter(({ entry }) =>
      trust === "trusted" || entry.trust === "untrusted"
    );
    return { definitions: usable, problems, project };
  }

  async #project(
    workdir: string,
    problems: ServerProblem[],
  ): Promise<Omit<ProjectServers, "runs"> & { entries: readonly ServerEntry[] }> {
    let project = this.#projects.get(workdir);
    if (project === undefined) this.#projects.set(workdir, project = new ProjectPolicy(workdir));
    try {
      const { policy: { servers: entries }, sha256, changed } = await project.read();
      if (changed) this.#retireProject(workdir);
      const approved = entries.length > 0 && await this.#parts.approvals.has(workdir, sha256);
      return { file: project.path, sha256, approved, entries };
    } catch (error) {
      this.#retireProject(workdir);
      problems.push({ server: "", message: messageOf(error) });
      return { file: project.path, sha256: "", approved: false, entries: [] };
    }
  }

  #definition(entry: ServerEntry, workdir?: string, allowed?: readonly string[]): Definition {
    const scope = workdir === undefined ? "operator" : "project";
    const found = entry.enabled
      ? credentialsOf(entry, this.#parts.env, allowed)
      : { values: {}, secrets: [] };
    if ("problem" in found) {
      const problem = `tool server ${entry.name}: ${found.problem}`;
      return { entry, scope, workdir, problem, values: {}, secrets: [] };
    }
    return { entry, scope, workdir, ...found };
  }

  /** @throws {SvcError} not_found; conflict for a server that is disabled or lacks a credential */
  async #usable(name: string, scope: ExternalScope): Promise<ExternalServer> {
    return this.#server(await this.#found(name, scope), scope.trust);
  }

  async #found(name: string, scope: ExternalScope): Promise<Definition> {
    const { definitions } = await this.#definitions(scope);
    const definition = find(definitions, name);
    if (definition.problem !== undefined) throw new SvcError("conflict", definition.problem);
    if (!definition.entry.enabled) {
      throw new SvcError("conflict", `tool server ${name} is disabled`);
    }
    return definition;
  }

  #server(definition: Definition, trust: Trust): ExternalServer {
    if (this.#closed) throw new SvcError("shutting_down", "the daemon is stopping");
    const { entry, workdir, values, secrets } = definition;
    const key = keyOf(definition, trust);
    let server = this.#servers.get(key);
    if (server === undefined) {
      const { clock, log, env, find, confine, logins, onSecrets } = this.#parts;
      onSecrets(secrets);
      let mask = masker(secrets);
      let before: string[] = [];
      const learn = (login: Login) => {
        const tokens = loginSecrets(login);
        onSecrets(tokens);
        // Answers to calls in progress may contain the earlier tokens.
        mask = masker([...secrets, ...tokens, ...before]);
        before = tokens;
      };
      const target = () => targetOf({ entry, values, env, workdir, find, confine, logins, learn });
      server = new ExternalServer({ entry, target, mask: (text) => mask(text), clock, log });
      this.#servers.set(key, server);
    }
    return server;
  }

  #retireProject(workdir: string): void {
    for (const key of this.#servers.keys()) {
      if (JSON.parse(key)[0] === workdir) this.#retire(key);
    }
  }

  #retire(key: string): void {
    const server = this.#servers.get(key)!;
    this.#servers.delete(key);
    server.retire();
    this.#retired = [...this.#retired.filter((it) => !it.done), server];
  }
}

/** Returns what a person reviews; variables appear by name, as in the file. */
function runsOf(entries: readonly ServerEntry[]): ProjectServers["runs"] {
  return Object.fromEntries(entries.map((entry) => {
    const { name, enabled, auth_env } = entry;
    const place = entry.transport === "stdio"
      ? { command: entry.command, args: entry.args, env: entry.env }
      : { url: entry.url, headers: entry.headers };
    return [name, { ...place, ...(auth_env && { auth_env }), ...(enabled ? {} : { enabled }) }];
  }));
}

/** Sessions with the same key share a server. */
function keyOf({ workdir, entry }: Pick<Definition, "workdir" | "entry">, trust: Trust): string {
  return JSON.stringify([workdir ?? null, trust, entry]);
}

/** @throws {SvcError} not_found */
function find(definitions: readonly Definition[], name: string): Definition {
  const found = definitions.find(({ entry }) => entry.name === name);
  if (found !== undefined) return found;
  const known = definitions.map(({ entry }) => entry.name);
  throw unknown(`tool server ${JSON.stringify(name)}`, name, known);
}

function unknown(what: string, name: string, known: readonly string[]): SvcError {
  const nearest = nearestOf(name, known);
  return new SvcError("not_found", `there is no ${what}`, {
    hint: nearest === undefined
      ? `available: ${known.join(", ") || "none"}`
      : `did you mean ${nearest}?`,
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
