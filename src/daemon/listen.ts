/** The port of the loopback listener, and how the next daemon gets it. */
import { existsSync } from "node:fs";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { HttpListener, type HttpListenerOptions } from "../net/http_listener.ts";
import type { PortKeeper } from "../net/port_keeper.ts";
import type { PortStore } from "../net/port_store.ts";
import type { Log } from "../os/log.ts";
import type { HomePaths } from "../os/paths.ts";

type Handle = Deno.ServeHandler<Deno.NetAddr>;

interface ListenParts {
  hostname: string;
  /** 0 for the last daemon's, if nobody else can have had it since, and else a free one. */
  port: number;
  port_store?: PortStore;
  paths: Pick<HomePaths, "port">;
  log: Log;
}

/**
 * Binds the loopback listener.
 *
 * Only a kept port is used again by itself: otherwise another user's program may have had it and
 * left a service worker in the browser, which would get the token.
 *
 * @returns also whether it took over the last daemon's port
 * @throws {SvcError} conflict when the port is taken
 */
export async function listenOn(
  parts: ListenParts,
  handle: Handle,
): Promise<{ server: HttpListener; taken_over: boolean }> {
  const { hostname, port, log } = parts;
  return await takeOver(parts, handle) ??
    { server: listenHttp({ hostname, port, log }, handle), taken_over: false };
}

async function takeOver(
  { hostname, port, paths, port_store, log }: ListenParts,
  handle: Handle,
) {
  const stored = port_store?.kept ?? [];
  if (stored.length === 0 && !existsSync(paths.port)) return undefined;
  const { keptPort, storedPort } = await import("../net/port_keeper.ts");
  const kept = storedPort(stored) ?? keptPort(paths.port);
  if (kept === undefined || (port !== 0 && port !== kept)) return undefined;
  try {
    return {
      server: new HttpListener({ hostname, port: kept, beside: true, log }, handle),
      taken_over: true,
    };
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return undefined;
    throw error;
  }
}

/** @throws {SvcError} conflict when the port is taken */
function listenHttp(options: HttpListenerOptions, handle: Handle): HttpListener {
  try {
    return new HttpListener(options, handle);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    const { hostname, port } = options;
    throw new SvcError("conflict", `port ${port} on ${hostname} is in use by another program`, {
      hint: "it must be free on 127.0.0.1 and on [::1]; choose another with --port, " +
        "or omit it to get a free one",
      cause,
    });
  }
}

/** Keeps a daemon's port for the next daemon (Linux). */
export class PortKeeping {
  readonly #parts: ListenParts;
  readonly #port: number;
  readonly #after_ms: number;
  #timer: number | undefined;
  #keeper: Promise<PortKeeper | undefined> | undefined;

  /** @param after_ms when a process is started for it */
  constructor(parts: ListenParts, port: number, after_ms: number) {
    this.#parts = parts;
    this.#port = port;
    this.#after_ms = after_ms;
  }

  start(): void {
    if (Deno.build.os !== "linux") return;
    this.#timer = setTimeout(() => this.#keeper = this.#keep(), this.#after_ms);
  }

  async #keep(): Promise<PortKeeper | undefined> {
    const { paths, port_store, log } = this.#parts;
    try {
      const { keepPort, storePort } = await import("../net/port_keeper.ts");
      if (port_store && storePort(this.#port, paths.port, port_store)) return undefined;
      return await keepPort(this.#port, paths.port);
    } catch (error) {
      log.warn("the port is not kept for a restart", { error: messageOf(error) });
      return undefined;
    }
  }

  /** From now on the port is kept for a while. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await (await this.#keeper)?.release();
  }
}
