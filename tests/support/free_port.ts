import { granted } from "./permissions.ts";

/**
 * Returns a port that is free on loopback, and that the system gives to nobody else until it is
 * needed: it lies below those for connections.
 *
 * @returns 0 where tests may not use the network
 */
export function freePort(): number {
  if (!granted("net")) return 0;
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    try {
      for (const hostname of ["127.0.0.1", "::1"]) Deno.listen({ hostname, port }).close();
      return port;
    } catch (error) {
      // A machine may have only one family.
      if (!(error instanceof Deno.errors.AddrInUse)) return port;
    }
  }
}
