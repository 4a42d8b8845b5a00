import { deadline } from "@std/async";
import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { descentVerbs } from "./descent_verbs.ts";
import { legacyMissionVerbs } from "./legacy_verbs.ts";
import { missionVerbs } from "./verbs.ts";

/** The least time for missions to end their sessions and remove their worktrees. */
const PARK_MS = 5_000;

export const missions = feature({
  name: "missions",
  verbs: [...descentVerbs, ...missionVerbs, ...legacyMissionVerbs],
  migrations: async () => (await import("./migrations.ts")).MIGRATIONS,
  open(host) {
    const { hub, requireRunning, has_state_db } = host;
    const engine = new Opener(async () => {
      requireRunning();
      const { openMissions } = await import("./open.ts");
      return await openMissions(host);
    });
    return {
      services: { hub, missions: () => engine.get() },
      async resume() {
        // Without a database there are no missions, and nothing is loaded.
        if (!has_state_db) return;
        const { hasUnfinished } = await import("./unfinished.ts");
        if (await hasUnfinished(host)) await engine.get();
      },
      // Missions are parked at once, to continue later.
      finish: (grace_ms) =>
        engine.opened?.then((it) => deadline(it.close(grace_ms), Math.max(2 * grace_ms, PARK_MS))),
    };
  },
});
