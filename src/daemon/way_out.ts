/** Network access to allowed hosts for commands. */
import { join } from "@std/path";
import type { DecideHost, WayOut } from "../agent/way_out.ts";
import type { Config } from "../config/config.ts";
import type { Sandbox } from "../jail/sandbox.ts";
import { type AllowedHost, parseAllowedHost } from "../net/allowed_hosts.ts";
import { CommandProxy } from "../net/command_proxy.ts";
import { registryHosts } from "../net/registries.ts";
import { ensurePrivateDir } from "../os/files.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { SessionState } from "../session/session_state.ts";

interface WayOutParts {
  config(): Config;
  sandbox(): Promise<Sandbox>;
  /** Private directory for the sockets. */
  directory: string;
  ports(): number[];
}

/** Hosts on a command's own loopback. */
const DIRECT = ["localhost", "127.0.0.1", "::1"];

/** Opens network access for commands. */
export class WaysOut {
  readonly #parts: WayOutParts;
  readonly #all = { connections: 0 };
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
    { workdir, trust }: Pick<SessionState, "workdir" | "trust">,
    decide?: DecideHost,
  ): Promise<WayOut | undefined> {
    const { config, sandbox, directory, ports } = this.#parts;
    if (config().sandbox.network !== "allowed" || !(await sandbox()).forwards) return undefined;
    const registries = config().sandbox.registries ? await registriesOf(workdir) : [];
    const allowed = () => {
      const { allowed_hosts, registries: also } = config().sandbox;
      return [...allowed_hosts.map(parseAllowedHost), ...(also ? registries : [])];
    };
    const path = join(directory, `${this.#next++}`);
    let proxy: CommandProxy;
    try {
      proxy = new CommandProxy({
        path,
        allowed,
        open: () => config().sandbox.network !== false,
        local: trust === "trusted",
        all: this.#all,
        own_ports: ports,
        decide,
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
    const named = allowed().map(({ host }) => host);
    return {
      proxy: { path, direct: DIRECT.filter((host) => !named.includes(host)) },
      get refusals() {
        return proxy.refusals;
      },
      get waited_ms() {
        return proxy.waited_ms;
      },
      [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
    };
  }
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
