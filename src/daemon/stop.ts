/** Stops the parts of a daemon in order. */
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import type { Hub } from "../session/hub.ts";
import type { OpenFeatures } from "../verbs/feature.ts";
import type { Doors } from "./doors.ts";
import type { Jail } from "./jail.ts";

interface StopParts {
  log: Log;
  hub: Hub;
  jail: Jail;
  features: OpenFeatures;
  /** Undefined before or without listening. */
  doors(): Doors | undefined;
}

/** Stops everything and records it. @param grace_ms time for work to reach a safe point */
export async function stopAll(parts: StopParts, grace_ms: number): Promise<void> {
  const { log, hub, jail, features: { all } } = parts;
  /** One part's failure must not keep others from stopping. */
  const step = async (what: string, done: Promise<unknown> | undefined) => {
    try {
      await done;
    } catch (error) {
      log.error(`stopping ${what} failed`, { error: messageOf(error) });
    }
  };
  // Work that needs running sessions gets half of the time; a person's turns begin no other step.
  const finish = async () => {
    await Promise.all(all.map(({ name, finish }) => step(name, finish?.(grace_ms / 2))));
    await Promise.all(all.map(({ name, quiesce }) => step(name, quiesce?.())));
  };
  const finished = finish();
  await step("the sessions", hub.stop(grace_ms, finished));
  await finished;
  for (const { name, stop } of all.toReversed()) await step(name, stop?.());
  await step("the file tools", jail.close());
  await parts.doors()?.close();
  log.info("stopped");
}
