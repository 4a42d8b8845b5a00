/** The listener of surface B: opened beside the daemon's own, and closed with it. */
import { SvcError } from "../../protocol/errors.ts";
import { HttpListener } from "../../net/http_listener.ts";
import type { Log } from "../../os/log.ts";
import { bind, Dispatcher } from "../../verbs/define.ts";
import type { TaskEngine } from "../tasks/engine.ts";
import type { Quota } from "../tasks/quota.ts";
import type { Drafts } from "./a2a/drafts.ts";
import { hireApp } from "./app.ts";
import { Hiring } from "./hiring.ts";
import { HireTokens } from "./tokens.ts";
import { hireVerbs } from "./verbs.ts";

/** The operator's options for hired work. */
export interface HireOptions {
  hostname: string;
  /** 0 picks a free port. */
  port: number;
  /** The time limit of one task. */
  timeout_ms: number;
  /** The advertised and accepted task types. */
  caps: readonly string[];
  /** Whether hired work may reach loopback, link-local and private addresses. */
  allow_private: boolean;
  /** The public address, without a trailing slash. */
  public_url?: string;
}

export interface HireParts extends HireOptions {
  /** The accepted tokens; without any, anyone who reaches the listener may hire. */
  tokens: readonly string[];
  version: string;
  log: Log;
  engine(): Promise<TaskEngine>;
  /** Where incomplete requests wait for their clients. */
  drafts: Drafts;
  budget_usd(): number;
  shared(): boolean;
  quota(): Quota;
  allowed_origins(): readonly string[];
  stopping(): boolean;
}

/** @throws {SvcError} conflict if the port is taken; validation for an invalid host. */
export function openHire(parts: HireParts): HttpListener {
  const tokens = new HireTokens(parts.tokens);
  const { hostname, port } = parts;
  let listener: HttpListener | undefined;
  const handle = hireApp({
    ...parts,
    tokens,
    dispatcher: new Dispatcher(bind(hireVerbs, new Hiring({ ...parts, tokens }))),
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
