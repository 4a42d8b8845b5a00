/** The listener of surface B: bound beside the daemon's own, ended with it. */
import type { Log } from "../platform/log.ts";
import { SvcError } from "../platform/errors.ts";
import type { TaskEngine } from "../tasks/engine.ts";
import { hireApp } from "./app.ts";
import { Hiring } from "./hiring.ts";
import { HireTokens } from "./tokens.ts";

/** How the operator offers work for hire. */
export interface HireOptions {
  hostname: string;
  /** 0 picks a free port. */
  port: number;
  /** What one task may take. */
  timeout_ms: number;
  /** The task types that are advertised and accepted. */
  caps: readonly string[];
  /** Whether hired work may reach loopback, link-local and private addresses. */
  allow_private: boolean;
}

export interface HireParts extends HireOptions {
  /** Accepted tokens; none: everyone who reaches the listener may hire. */
  tokens: readonly string[];
  version: string;
  log: Log;
  engine(): Promise<TaskEngine>;
  budget_usd(): number;
  allowed_origins(): readonly string[];
  stopping(): boolean;
}

export interface HireListener {
  readonly hostname: string;
  readonly port: number;
  /** Resolves when every answer that was under way has been given. */
  close(): Promise<void>;
}

/** Opens the listener. @throws {SvcError} conflict when the port is taken; validation for the host. */
export function openHire(parts: HireParts): HireListener {
  const tokens = new HireTokens(parts.tokens);
  const handle = hireApp({ ...parts, tokens, hiring: new Hiring({ ...parts, tokens }) });
  const { hostname, port } = parts;
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({ hostname, port, onListen: () => {} }, handle);
  } catch (cause) {
    if (cause instanceof Deno.errors.AddrInUse) {
      throw new SvcError("conflict", `port ${port} of ${hostname} is in use by another program`, {
        hint: "choose another with --addr host:port",
        cause,
      });
    }
    throw new SvcError("validation", `${hostname}:${port} cannot be listened on`, { cause });
  }
  return {
    hostname,
    port: server.addr.port,
    close: () => server.shutdown(),
  };
}
