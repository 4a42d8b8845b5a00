/** How a daemon hires out: its listener, and its reports of tasks. Loaded when either is needed. */
import type { HttpListener } from "../../net/http_listener.ts";
import { VERSION } from "../../protocol/version.ts";
import type { Host } from "../../verbs/host.ts";
import { TASKS } from "../tasks/config.ts";
import type { TaskEngine } from "../tasks/engine.ts";
import type { Reporter } from "../tasks/open.ts";
import { HIRE } from "./config.ts";
import { callbackSender } from "./callback.ts";
import { type HireOptions, openHire } from "./listener.ts";
import { HireTokens } from "./tokens.ts";

/** Opens the listener. @throws {SvcError} as {@linkcode openHire}. */
export function openListener(
  { log, config, stopping }: Host,
  { tokens, offer, engine }: {
    tokens: readonly string[];
    offer: HireOptions;
    engine(): Promise<TaskEngine>;
  },
): HttpListener {
  const listener = openHire({
    ...offer,
    tokens,
    version: VERSION,
    log,
    engine,
    budget_usd: () => config().of(TASKS).budget_usd,
    shared: () => config().of(HIRE).shared,
    allowed_origins: () => config().http.allowed_origins,
    stopping,
  });
  log.info("accepting tasks for hire", { hostname: listener.hostname, port: listener.port });
  return listener;
}

/** Makes what reports the ends of tasks. */
export function openReporter({ openEgress }: Host, accepted: readonly string[]): Reporter {
  const tokens = new HireTokens(accepted);
  return {
    deliver: callbackSender({ tokens, egress: () => openEgress(true) }),
    signs: tokens.required,
  };
}
