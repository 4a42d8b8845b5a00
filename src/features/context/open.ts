/** What tells the models of a daemon where they work. Loaded at the first turn. */
import type { Host } from "../../verbs/host.ts";
import { Teller } from "./teller.ts";

/** Makes it. */
export function openTeller({ models, sandbox, config, paths, turn_parts, uid, log }: Host): Teller {
  return new Teller({
    isBuiltin: (model) => models().isBuiltin(model),
    sandbox,
    network: () => config().sandbox.network,
    home: paths.home,
    hidden: turn_parts.hidden,
    uid: Deno.build.os === "windows" ? undefined : uid,
    now: () => new Date(),
    log,
  });
}
