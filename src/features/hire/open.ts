/** The hiring listener, and the reports of tasks. Loaded when either is needed. */
import { VERSION } from "../../protocol/version.ts";
import type { Host } from "../../verbs/host.ts";
import type { Listener } from "../../verbs/opened.ts";
import { TASKS } from "../tasks/config.ts";
import type { TaskEngine } from "../tasks/engine.ts";
import type { Reporter } from "../tasks/open.ts";
import { Drafts } from "./a2a/drafts.ts";
import { HIRE } from "./config.ts";
import { callbackSender } from "./callback.ts";
import { type HireOptions, openHire } from "./listener.ts";
import { HireTokens } from "./tokens.ts";

/** Opens the listener. @throws {SvcError} as {@linkcode openHire}. */
export function openListener(
  { log, config, stopping, openStateDb }: Host,
  { tokens, offer, engine }: {
    tokens: readonly string[];
    offer: HireOptions;
    engine(): Promise<TaskEngine>;
  },
): Listener {
  const shared = () => config().of(HIRE).shared;
  const drafts = new Drafts(openStateDb, shared);
  const listener = openHire({
    ...offer,
    tokens,
    version: VERSION,
    log,
    engine,
    drafts,
    budget_usd: () => config().of(TASKS).budget_usd,
    shared,
    quota: () => config().of(HIRE),
    allowed_origins: () => config().http.allowed_origins,
    stopping,
  });
  log.info("accepting tasks for hire", { hostname: listener.hostname, port: listener.port });
  return {
    port: listener.port,
    async close() {
      await listener.close();
      await drafts.close();
    },
  };
}

/** Creates the reporter of tasks' ends. */
export function openReporter({ openEgress }: Host, accepted: readonly string[]): Reporter {
  const tokens = new HireTokens(accepted);
  return {
    deliver: callbackSender({ tokens, egress: () => openEgress(true) }),
    signs: tokens.required,
  };
}
