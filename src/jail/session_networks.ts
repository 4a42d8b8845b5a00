/**
 * The network that the commands of a session share while one of them runs in the background: a
 * loopback, and nothing else. Otherwise each command would have one of its own, and could not reach
 * a server that another one has left running.
 *
 * bwrap makes the network of the first command in the background. The daemon keeps it open, and
 * `nsenter` starts the bwrap of each later command in it.
 */
import { delay } from "@std/async";
import { lazy } from "../base/lazy.ts";
import { type KeptNetwork, Namespaces } from "../os/namespaces.ts";
import { firstFile } from "../os/which.ts";
import { PROXY_PORT } from "./forwarder.ts";

/** What of a command's scope decides about its network. */
interface NetworkScope {
  session_id?: string;
  network: boolean;
  shares_network?: boolean;
  background?: boolean;
}

/** Of util-linux and busybox. */
const NSENTER = ["/usr/bin/nsenter", "/bin/nsenter", "/run/current-system/sw/bin/nsenter"];
/** How long a bwrap may take to make a network, on a busy machine. */
const MADE_MS = 5_000;
const LOOK_MS = 5;
/** From the guarded shell to what is in the network: bwrap, and its child. */
const LEVELS = 3;

/** What starts a program in a network. */
export interface Joining {
  cmd: string;
  /** Before the program and its arguments. */
  args: readonly string[];
  /** For bwrap, which has other ids there. */
  bwrap: readonly string[];
}

/** The network of one command. */
export interface CommandNetwork {
  /** Undefined for a network of its own, or that of the machine. */
  joining?: Joining;
  /** For its proxy, if it has one. */
  port: number;
  started(child: Deno.ChildProcess): void;
  failed(): void;
}

interface Shared {
  kept?: KeptNetwork;
  /** Undefined until it is found. */
  joining?: Joining;
  /** Resolves once it is found, or cannot be. */
  settled: Promise<void>;
  /** Running commands in the background, and others that joined. */
  members: number;
}

export class SessionNetworks implements Disposable {
  readonly #works: (joining: Joining) => Promise<boolean>;
  readonly #shared = new Map<string, Shared>();
  /** Taken by proxies of commands. */
  readonly #ports = new Map<string, Set<number>>();
  readonly #tools = lazy(() => {
    const nsenter = firstFile(NSENTER);
    const namespaces = nsenter === undefined ? undefined : Namespaces.open();
    return namespaces && { nsenter: nsenter!, namespaces };
  });
  /** Whether this machine does not let commands join. */
  #refused = false;
  #closed = false;

  /**
   * @param works tries to start a sandbox in a network; throws if it may work later
   */
  constructor(works: (joining: Joining) => Promise<boolean>) {
    this.#works = works;
  }

  /** Returns the network for a command that starts now. */
  of({ session_id, shares_network, network, background = false }: NetworkScope): CommandNetwork {
    if (session_id === undefined || shares_network !== true || network) {
      return { port: PROXY_PORT, started() {}, failed() {} };
    }
    const shared = this.#shared.get(session_id);
    const joining = shared?.joining;
    // It stays while something may still open it.
    if (joining !== undefined) shared!.members++;
    // The documented port is for what one waits for.
    const port = background || joining !== undefined
      ? this.#takePort(session_id, background ? PROXY_PORT + 1 : PROXY_PORT)
      : undefined;
    let over = false;
    const failed = () => {
      if (over) return;
      over = true;
      this.#givePort(session_id, port);
      if (joining !== undefined) this.#leave(session_id, shared!);
    };
    return {
      joining,
      port: port ?? PROXY_PORT,
      started: (child) => {
        child.status.finally(failed);
        if (background) this.#started(session_id, child);
      },
      failed,
    };
  }

  /**
   * Waits while a session's network is being made. @returns whether it has one. If none is being
   * made it does not let others run before the caller.
   */
  async settled(session_id: string): Promise<boolean> {
    await this.#shared.get(session_id)?.settled;
    return this.#shared.get(session_id)?.joining !== undefined;
  }

  #started(session_id: string, child: Deno.ChildProcess): void {
    const shared = this.#shared.get(session_id) ?? this.#begin(session_id, child);
    if (shared === undefined) return;
    shared.members++;
    child.status.finally(() => this.#leave(session_id, shared));
  }

  #leave(session_id: string, shared: Shared): void {
    if (--shared.members === 0) this.#end(session_id, shared);
  }

  #begin(session_id: string, child: Deno.ChildProcess): Shared | undefined {
    if (this.#refused) return undefined;
    const shared: Shared = { settled: Promise.resolve(), members: 0 };
    this.#shared.set(session_id, shared);
    shared.settled = this.#find(shared, child)
      // For now, there was no room for one more process.
      .catch(() => {})
      .then(() => {
        if (shared.joining === undefined) this.#end(session_id, shared);
      });
    return shared;
  }

  async #find(shared: Shared, child: Deno.ChildProcess): Promise<void> {
    const tools = this.#tools();
    if (tools === undefined) {
      this.#refused = true;
      return;
    }
    const isWanted = () => !this.#closed && shared.members > 0;
    for (const end = Date.now() + MADE_MS; Date.now() < end;) {
      await delay(LOOK_MS);
      if (!isWanted()) return;
      shared.kept = tools.namespaces.keepBelow(child.pid, LEVELS);
      if (shared.kept !== undefined) break;
    }
    if (shared.kept !== undefined) {
      const joining = joiningOf(tools.nsenter, shared.kept);
      const works = await this.#works(joining);
      if (!isWanted()) return;
      if (works) shared.joining = joining;
    }
    this.#refused = shared.joining === undefined;
  }

  #end(session_id: string, shared: Shared): void {
    shared.kept?.[Symbol.dispose]();
    shared.kept = undefined;
    shared.joining = undefined;
    if (this.#shared.get(session_id) === shared) this.#shared.delete(session_id);
  }

  #takePort(session_id: string, first: number): number {
    const taken = this.#ports.get(session_id) ?? new Set();
    this.#ports.set(session_id, taken);
    let port = first;
    while (taken.has(port)) port++;
    taken.add(port);
    return port;
  }

  #givePort(session_id: string, port: number | undefined): void {
    const taken = this.#ports.get(session_id);
    if (port !== undefined) taken?.delete(port);
    if (taken?.size === 0) this.#ports.delete(session_id);
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const [session_id, shared] of this.#shared) this.#end(session_id, shared);
  }
}

function joiningOf(nsenter: string, { net, user, gid }: KeptNetwork): Joining {
  return {
    cmd: nsenter,
    args: [
      `--net=${net}`,
      ...(user === undefined ? [] : [`--user=${user}`, "--preserve-credentials"]),
      "--",
    ],
    bwrap: user === undefined ? [] : ["--uid", String(Deno.uid()), "--gid", String(gid)],
  };
}
