/** Network access to allowed hosts for commands. */
import { join } from "@std/path";
import type { DecideHost, WayOut } from "../agent/way_out.ts";
import { Semaphore } from "../base/semaphore.ts";
import type { Config } from "../config/config.ts";
import type { Sandbox } from "../jail/sandbox.ts";
import { type AllowedHost, type Destination, parseAllowedHost } from "../net/allowed_hosts.ts";
import { CommandProxy } from "../net/command_proxy.ts";
import { gitSettings, parseGitHost } from "../net/git_hosts.ts";
import { GitWay } from "../net/git_way.ts";
import { registryHosts } from "../net/registries.ts";
import { ensurePrivateDir } from "../os/files.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { isWorkTitle } from "../session/ids.ts";
import type { SessionState } from "../session/session_state.ts";
import { GitCredentials } from "./git_credentials.ts";

interface WayOutParts {
  config(): Config;
  networkOf(session: Pick<SessionState, "network" | "trust">): boolean | "allowed";
  sandbox(): Promise<Sandbox>;
  /** Real paths that sessions can write. */
  writable(): readonly string[];
  /** Private directory for the sockets. */
  directory: string;
  ports(): number[];
}

/** Hosts on a command's own loopback. */
const DIRECT = ["localhost", "127.0.0.1", "::1"];
/** A command cannot open a port below. */
const FIRST_PORT = 1_024;
/** Allowed ports of the machine that a command's own loopback has; each costs it a process. */
const PORTS_MAX = 16;
/** Programs of all commands that are asked for credentials at once. */
const CREDENTIAL_PROGRAMS_MAX = 4;

/** Opens network access for commands. */
export class WaysOut {
  readonly #parts: WayOutParts;
  readonly #all = { connections: 0 };
  readonly #credential_slots = new Semaphore(CREDENTIAL_PROGRAMS_MAX);
  #next = 0;

  constructor(parts: WayOutParts) {
    this.#parts = parts;
    const { directory } = parts;
    ensurePrivateDir(directory);
    // Left by a killed daemon.
    for (const { name } of Deno.readDirSync(directory)) Deno.removeSync(join(directory, name));
  }

  /**
   * Opens the proxy for one command; the caller disposes of it.
   *
   * @param decide decides about other hosts, such as by asking the person
   * @returns undefined with no or full network
   * @throws {SvcError} unavailable when it cannot be opened
   */
  async open(
    session: Pick<SessionState, "workdir" | "trust" | "title" | "network">,
    decide?: DecideHost,
  ): Promise<WayOut | undefined> {
    const { config, networkOf, sandbox, writable, directory, ports } = this.#parts;
    const { workdir, trust, title } = session;
    if (networkOf(session) !== "allowed" || !(await sandbox()).forwards) return undefined;
    const registries = config().sandbox.registries ? await registriesOf(workdir) : [];
    const allowed = () => {
      const { allowed_hosts, registries: also } = config().sandbox;
      return [...allowed_hosts.map(parseAllowedHost), ...(also ? registries : [])];
    };
    const path = join(directory, `${this.#next++}`);
    const gitHosts = () => config().sandbox.git_credentials.map(parseGitHost);
    // Work for others and work without a person never has their credentials.
    const git_hosts = trust === "trusted" && !isWorkTitle(title) ? gitHosts() : [];
    const ended = new AbortController();
    const credentials = async () =>
      new GitCredentials({
        sandbox: await sandbox(),
        workdir,
        writable,
        slots: this.#credential_slots,
        environment: Deno.env.toObject(),
        signal: ended.signal,
      });
    const local = trust === "trusted";
    const open_ports = local ? portsOf(allowed()) : [];
    let proxy: CommandProxy;
    try {
      proxy = new CommandProxy({
        path,
        allowed,
        open: () => networkOf(session) !== false,
        local,
        ports: open_ports,
        all: this.#all,
        own_ports: ports,
        decide,
        git: git_hosts.length === 0
          ? undefined
          : new GitWay({ hosts: gitHosts, credentials: await credentials() }),
      });
    } catch (error) {
      throw new SvcError(
        "unavailable",
        `cannot open a network proxy for the command: ${messageOf(error)}`,
        {
          hint: "a socket path can have at most 107 bytes: use a shorter SVC_HOME, or set " +
            "network = false in [sandbox]",
        },
      );
    }
    const opened = new Set(open_ports.map(({ port }) => port));
    const named = allowed().filter(({ port }) => !opened.has(port!)).map(({ host }) => host);
    return {
      proxy: {
        path,
        direct: DIRECT.filter((host) => !named.includes(host)),
        git: gitSettings(git_hosts),
        ports: proxy.ports,
      },
      get refusals() {
        return proxy.refusals;
      },
      get waited_ms() {
        return proxy.waited_ms;
      },
      [Symbol.asyncDispose]() {
        ended.abort(new Error("the command has ended"));
        return proxy[Symbol.asyncDispose]();
      },
    };
  }
}

/** Returns the allowed ports of the machine that programs reach without knowing the proxy. */
function portsOf(allowed: readonly AllowedHost[]): Destination[] {
  const found = new Map<number, Destination>();
  for (const { host, port = 0 } of allowed) {
    if (port < FIRST_PORT || !DIRECT.includes(host) || found.has(port)) continue;
    if (found.size < PORTS_MAX) found.set(port, { host, port });
  }
  return [...found.values()];
}

async function registriesOf(workdir: string): Promise<AllowedHost[]> {
  const hosts = await registryHosts(async (name) => {
    try {
      return (await Deno.lstat(join(workdir, name))).isFile;
    } catch {
      return false;
    }
  });
  return hosts.map(parseAllowedHost);
}
