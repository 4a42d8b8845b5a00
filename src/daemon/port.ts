/** How the next daemon gets the port of this one. Loaded when there is a port to take or to keep. */
import { messageOf, SvcError } from "../protocol/errors.ts";
import { HttpListener } from "../net/http_listener.ts";
import { keepPort, keptPort, type PortKeeper, storedPort, storePort } from "../net/port_keeper.ts";
import type { ListenParts } from "./listen.ts";

/** Listens on the last daemon's port. @returns undefined if that is not proven to be ours alone */
export function takeOver(
  { hostname, port, paths, port_store, log }: ListenParts,
  handle: Deno.ServeHandler<Deno.NetAddr>,
): HttpListener | undefined {
  const kept = storedPort(port_store?.kept ?? []) ?? keptPort(paths.port);
  if (kept === undefined || (port !== 0 && port !== kept)) return undefined;
  try {
    return new HttpListener({ hostname, port: kept, beside: true, log }, handle);
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return undefined;
    throw error;
  }
}

export function inUse({ hostname, port }: ListenParts, cause: unknown): SvcError {
  return new SvcError("conflict", `port ${port} on ${hostname} is in use by another program`, {
    hint: "it must be free on 127.0.0.1 and on [::1]; choose another with --port, " +
      "or omit it to get a free one",
    cause,
  });
}

/** Has a port of this daemon kept for the next one (Linux). Never throws. */
export async function keep(
  { paths, port_store, log }: ListenParts,
  port: number,
): Promise<PortKeeper | undefined> {
  try {
    if (Deno.build.os !== "linux") return undefined;
    if (port_store && storePort(port, paths.port, port_store)) return undefined;
    return await keepPort(port, paths.port);
  } catch (error) {
    log.warn("the port is not kept for a restart", { error: messageOf(error) });
    return undefined;
  }
}
