/** The order in which the parts of a daemon stop. */
import { deadline } from "@std/async";
import type { Minds } from "../features/acp_agents/minds.ts";
import type { UnitPool } from "../jail/unit/pool.ts";
import type { Bus } from "../features/bus/bus.ts";
import type { MissionEngine } from "../features/missions/engine.ts";
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import type { Hub } from "../session/hub.ts";
import type { TaskEngine } from "../features/tasks/engine.ts";
import type { OpenFeature } from "../verbs/feature.ts";
import type { DaemonCortex } from "../features/memory/open.ts";
import type { Doors } from "./doors.ts";
import type { Opener } from "../base/lazy.ts";
import type { ToolServers } from "../features/tool_servers/open.ts";

export interface StopParts {
  log: Log;
  hub: Hub;
  bus: Bus;
  units: Opener<UnitPool>;
  missions: Opener<MissionEngine>;
  tasks: Opener<TaskEngine>;
  cortex: Opener<DaemonCortex>;
  tool_servers: Opener<ToolServers>;
  features: readonly OpenFeature[];
  minds: Opener<Minds>;
  /** Undefined where it does not listen, or not yet. */
  doors(): Doors | undefined;
}

/** How long missions may take at least to end their sessions and remove their worktrees. */
const PARK_MS = 5_000;

/**
 * Stops everything that was opened; resolves when it is recorded.
 *
 * @param grace_ms time for tasks and turns to reach a safe point.
 */
export async function stopAll(parts: StopParts, grace_ms: number): Promise<void> {
  const { log, hub, bus, units, missions, tasks, cortex, tool_servers, features, minds } = parts;
  const until = performance.now() + grace_ms;
  // Missions are parked at once, to go on later. Tasks need sessions that run; they may use half
  // of the time, the other is the turns'.
  const park_ms = Math.max(grace_ms / 2, PARK_MS);
  /** A part that does not stop as it should keeps no other from it. */
  const step = async (what: string, done: Promise<unknown> | undefined) => {
    try {
      await done;
    } catch (error) {
      log.error(`stopping ${what} failed`, { error: messageOf(error) });
    }
  };
  const parked = missions.opened?.then((engine) => deadline(engine.close(), park_ms));
  const finished = tasks.opened?.then((engine) => engine.close(grace_ms / 2));
  await Promise.all([step("the missions", parked), step("the tasks", finished)]);
  await step("the lobes", cortex.opened?.then(({ cortex }) => cortex.stopLobes()));
  await step("the sessions", hub.stop(Math.max(until - performance.now(), 0)));
  await step("the memory", cortex.opened?.then(({ cortex }) => cortex.close()));
  await step("the tool servers", tool_servers.opened?.then(({ servers }) => servers.close()));
  for (const { name, stop } of features) await step(name, stop?.());
  await step("the agents", minds.opened?.then((it) => it.close()));
  await step("the bus", bus.close());
  await step("the file tools", units.opened?.then((pool) => pool.close()));
  await parts.doors()?.close();
  log.info("stopped");
}
