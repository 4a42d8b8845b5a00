import { SvcError } from "../protocol/errors.ts";
import { HttpListener, type HttpListenerOptions } from "../net/http_listener.ts";

type Handle = Deno.ServeHandler<Deno.NetAddr>;

/** Binds the loopback listener. @throws {SvcError} conflict when the port is taken */
export function listenHttp(options: HttpListenerOptions, handle: Handle): HttpListener {
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
