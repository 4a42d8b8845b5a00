/** A command's network access through the proxy to allowed hosts, as the tools see it. */
import type { ScopeProxy } from "../jail/sandbox.ts";
import type { Wanted } from "../net/allowed_hosts.ts";
import type { HostAnswer, WaitForPerson } from "../net/command_proxy.ts";

/** Decides about a host for a command. `allowed`: whether the list allows it. */
export type DecideHost = (
  to: Wanted,
  allowed: boolean,
  wait: WaitForPerson,
) => Promise<HostAnswer>;

/** Decides for a tool's call. @param wait waits for the person; undefined if nobody can be asked */
export type MayConnect = (
  to: Wanted,
  allowed: boolean,
  wait: WaitForPerson | undefined,
) => Promise<HostAnswer>;

/** Disposing of it ends every connection. */
export interface WayOut extends AsyncDisposable {
  /** What the sandbox takes. */
  readonly proxy: ScopeProxy;
  /** Why destinations were refused so far. */
  readonly refusals: readonly string[];
  /** How long the command has waited for a person, in milliseconds. */
  readonly waited_ms: number;
}

/** Returns the lines about refusals for the model. */
export function refusalNotes(way_out: WayOut | undefined): string[] {
  return (way_out?.refusals ?? []).map((it) => `[svc refused a connection: ${it}]`);
}

/** Returns what decides for a command; `may_ask` while its call waits for it. */
export function decideHost(
  mayConnect: MayConnect | undefined,
  may_ask = true,
): DecideHost | undefined {
  return mayConnect &&
    ((to, allowed, wait) => mayConnect(to, allowed, may_ask ? wait : undefined));
}
