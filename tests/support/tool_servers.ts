/** Tool servers without a daemon: the policy as text, real servers, a clock that stands. */
import { fromFileUrl, join } from "@std/path";
import { ExternalServers } from "../../src/features/tool_servers/servers.ts";
import type {
  ExternalScope,
  OfferedTool,
  ServerProblem,
} from "../../src/features/tool_servers/offer.ts";
import { Logins } from "../../src/features/tool_servers/logins.ts";
import { resultText } from "../../src/features/tool_servers/result.ts";
import { parsePolicy } from "../../src/features/tool_servers/policy_file.ts";
import { FakeClock } from "./clock.ts";
import { MemoryLog } from "./sessions.ts";

const PROGRAM = fromFileUrl(new URL("./tool_server.ts", import.meta.url));
const CONFIG = fromFileUrl(new URL("../../deno.json", import.meta.url));

/** The lines of `policy.yaml` for the tests' own server as a program. */
export function stdioEntry(name: string, more: Record<string, unknown> = {}): string {
  const { env = {}, ...rest } = more;
  // Without HOME, Deno would look into that of the user database, which may lack the packages.
  const DENO_DIR = Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME") ?? "/", ".cache", "deno");
  return entry(name, {
    transport: "stdio",
    command: Deno.execPath(),
    args: ["run", "-A", "--quiet", "--no-check", `--config=${CONFIG}`, PROGRAM],
    env: { DENO_DIR, ...env as object },
    ...rest,
  });
}

/** The lines for a server by HTTP. */
export function httpEntry(name: string, url: string, more: Record<string, unknown> = {}): string {
  return entry(name, { transport: "http", url, ...more });
}

/** JSON is YAML too. */
function entry(name: string, fields: Record<string, unknown>): string {
  return `  - ${JSON.stringify({ name, ...fields })}\n`;
}

/** A policy file of these entries. */
export function policyOf(...entries: string[]): string {
  return `mcp_servers:\n${entries.join("")}`;
}

export const TRUSTED: ExternalScope = { trust: "trusted" };
export const UNTRUSTED: ExternalScope = { trust: "untrusted" };

export interface ToolServersOptions {
  env?: Record<string, string>;
  allow_project?: boolean;
  project_env?: string[];
  /** The file of logins. */
  logins?: string;
}

export class TestToolServers implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly log = new MemoryLog();
  readonly secrets: string[] = [];
  readonly servers: ExternalServers;
  /** Approved directories with the SHA-256 of their files. */
  readonly approved = new Set<string>();
  readonly #options: ToolServersOptions;

  constructor(entries: string[], options: ToolServersOptions = {}) {
    this.#options = options;
    this.servers = new ExternalServers({
      env: (name) => options.env?.[name] ?? Deno.env.get(name),
      clock: this.clock,
      log: this.log,
      approvals: {
        has: (...key) => Promise.resolve(this.approved.has(key.join())),
        add: (...key) => Promise.resolve(void this.approved.add(key.join())),
      },
      logins: new Logins(options.logins ?? "/nonexistent/mcp-logins.json"),
      onSecrets: (secrets) => void this.secrets.push(...secrets),
      find: (cmd) => ({ cmd, path: Deno.env.get("PATH") ?? "" }),
      confine: ([cmd, ...args], _, env) =>
        Promise.resolve({ cmd, args, env: { PATH: Deno.env.get("PATH") ?? "", ...env } }),
    }, this.#policy(entries));
  }

  #policy(entries: string[]) {
    const { allow_project = false, project_env = [] } = this.#options;
    return { policy: parsePolicy(policyOf(...entries), "policy.yaml"), allow_project, project_env };
  }

  configure(...entries: string[]): void {
    this.servers.configure(this.#policy(entries));
  }

  async tools(scope = TRUSTED): Promise<{ offered: OfferedTool[]; problems: ServerProblem[] }> {
    return await this.servers.tools(scope, new AbortController().signal);
  }

  /** Approves what a project's file has now. */
  async approve(workdir: string): Promise<void> {
    await this.servers.approveProject(workdir, (await this.servers.project(workdir))!.sha256);
  }

  /** The names of a server's tools. */
  async names(server: string, scope = TRUSTED): Promise<string[]> {
    const { offered } = await this.tools(scope);
    return offered.filter((it) => it.server.entry.name === server).map(({ tool }) => tool.name);
  }

  /** Calls a tool and gives its text, masked. */
  async call(
    server: string,
    tool: string,
    args: Record<string, unknown> = {},
    options: { scope?: ExternalScope; signal?: AbortSignal; answer_forms?: boolean } = {},
  ): Promise<string> {
    const { scope = TRUSTED, signal = new AbortController().signal, answer_forms = false } =
      options;
    const { offered, problems } = await this.tools(scope);
    const found = offered.find((it) => it.server.entry.name === server);
    if (found === undefined) throw new Error(problems.map(({ message }) => message).join("; "));
    const result = await found.server.call(tool, args, { signal, answer_forms });
    return found.server.mask(resultText(result));
  }

  /** The list item of a server. */
  async item(server: string, scope = TRUSTED) {
    const { items } = await this.servers.list(scope);
    return items.find(({ name }) => name === server)!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.servers.close();
  }
}
