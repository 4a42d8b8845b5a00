import { SvcError } from "../platform/errors.ts";
import { HttpListener, type HttpListenerOptions } from "../platform/http_listener.ts";

type Handle = Deno.ServeHandler<Deno.NetAddr>;

/** Binds the loopback listener. @throws {SvcError} conflict when the port is taken. */
export function listenHttp(options: HttpListenerOptions, handle: Handle): HttpListener {
  try {
    return new HttpListener(options, handle);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    const { hostname, port } = options;
    throw new SvcError("conflict", `port ${port} of ${hostname} is in use by another program`, {
      hint: "choose another with --port, or leave it out to get a free one",
      cause,
    });
  }
}

/** Binds the port of the daemon before, or a free one. */
export function listenAgain(
  options: Omit<HttpListenerOptions, "port">,
  last_port: number | undefined,
  handle: Handle,
): HttpListener {
  try {
    return listenHttp({ ...options, port: last_port ?? 0 }, handle);
  } catch (error) {
    if (last_port === undefined || !(error instanceof SvcError)) throw error;
    return listenHttp({ ...options, port: 0 }, handle);
  }
}
