/** The order in which the parts of a daemon stop. */
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import type { Hub } from "../session/hub.ts";
import type { OpenFeatures } from "../verbs/feature.ts";
import type { Doors } from "./doors.ts";
import type { Jail } from "./jail.ts";

export interface StopParts {
  log: Log;
  hub: Hub;
  jail: Jail;
  features: OpenFeatures;
  /** Undefined where it does not listen, or not yet. */
  doors(): Doors | undefined;
}

/**
 * Stops everything that was opened; resolves when it is recorded.
 *
 * @param grace_ms time for work to reach a safe point.
 */
export async function stopAll(parts: StopParts, grace_ms: number): Promise<void> {
  const { log, hub, jail, features: { all } } = parts;
  const until = performance.now() + grace_ms;
  /** A part that does not stop as it should keeps no other from it. */
  const step = async (what: string, done: Promise<unknown> | undefined) => {
    try {
      await done;
    } catch (error) {
      log.error(`stopping ${what} failed`, { error: messageOf(error) });
    }
  };
  // What needs sessions that run may use half of the time, the other is the turns'.
  await Promise.all(all.map(({ name, finish }) => step(name, finish?.(grace_ms / 2))));
  await Promise.all(all.map(({ name, quiesce }) => step(name, quiesce?.())));
  await step("the sessions", hub.stop(Math.max(until - performance.now(), 0)));
  for (const { name, stop } of all.toReversed()) await step(name, stop?.());
  await step("the file tools", jail.close());
  await parts.doors()?.close();
  log.info("stopped");
}
