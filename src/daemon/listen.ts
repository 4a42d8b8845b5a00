import { existsSync } from "node:fs";
import { HttpListener } from "../net/http_listener.ts";
import type { PortStore } from "../net/port_store.ts";
import type { Log } from "../os/log.ts";
import type { HomePaths } from "../os/paths.ts";

export interface ListenParts {
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
 * @throws {SvcError} conflict when the port is taken
 */
export async function listenHttp(
  parts: ListenParts,
  handle: Deno.ServeHandler<Deno.NetAddr>,
): Promise<HttpListener> {
  const { hostname, port, port_store, paths, log } = parts;
  if (port_store?.kept.length || existsSync(paths.port)) {
    const taken = (await import("./port.ts")).takeOver(parts, handle);
    if (taken !== undefined) return taken;
  }
  try {
    return new HttpListener({ hostname, port, log }, handle);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    throw (await import("./port.ts")).inUse(parts, cause);
  }
}
