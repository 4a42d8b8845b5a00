/** The listener of surface B: bound beside the daemon's own, ended with it. */
import { SvcError } from "../../protocol/errors.ts";
import { HttpListener } from "../../net/http_listener.ts";
import type { Log } from "../../os/log.ts";
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
  /** How clients reach it from outside, without a slash at the end. */
  public_url?: string;
}

export interface HireParts extends HireOptions {
  /** Accepted tokens; none: everyone who reaches the listener may hire. */
  tokens: readonly string[];
  version: string;
  log: Log;
  engine(): Promise<TaskEngine>;
  budget_usd(): number;
  shared(): boolean;
  allowed_origins(): readonly string[];
  stopping(): boolean;
}

/** Opens the listener. @throws {SvcError} conflict when the port is taken; validation for the host. */
export function openHire(parts: HireParts): HttpListener {
  const tokens = new HireTokens(parts.tokens);
  const { hostname, port } = parts;
  let listener: HttpListener | undefined;
  const handle = hireApp({
    ...parts,
    tokens,
    hiring: new Hiring({ ...parts, tokens }),
    address: () => ({ hostname, port: listener?.port ?? port, machine: Deno.hostname() }),
  });
  try {
    return listener = new HttpListener(parts, handle);
  } catch (cause) {
    if (cause instanceof Deno.errors.AddrInUse) {
      throw new SvcError("conflict", `port ${port} on ${hostname} is in use by another program`, {
        hint: "it must be free on 127.0.0.1 and on [::1]; choose another with --addr host:port",
        cause,
      });
    }
    throw new SvcError("validation", `cannot listen on ${hostname}:${port}`, { cause });
  }
}
