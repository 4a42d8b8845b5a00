/** Ends of a daemon under clients that go on with the next one. */
import { assertEquals, assertNotEquals } from "@std/assert";
import { exists } from "@std/fs";
import { join } from "@std/path";
import { publishBinary } from "./releases.ts";
import type { Scenario } from "./scripted.ts";
import { gone, tests_binary } from "./svc.ts";

type Cut = (it: Scenario) => Promise<void>;

/** What a person or a fault does; after a crash, the next daemon is left to the client. */
const CUTS = {
  async "a restart"(it) {
    await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
    await it.daemon.ended();
    it.daemon = await it.place.serve();
    it.client = await it.daemon.rpc();
  },
  async "a crash"({ place }) {
    const { pid } = place.discovery();
    Deno.kill(pid, "SIGKILL");
    await gone(pid);
  },
  "an update": update,
} satisfies Record<string, Cut>;

export type Way = keyof typeof CUTS;

/** All of them; only a binary can be updated. */
export const WAYS = (Object.keys(CUTS) as Way[]).filter((way) =>
  way !== "an update" || tests_binary && Deno.build.os !== "windows"
);

export function cut(it: Scenario, way: Way): Promise<void> {
  return CUTS[way](it);
}

/** Updates a scenario's daemon to another version; the second time, back to the first one. */
export async function update({ place }: Scenario): Promise<void> {
  const before = place.discovery().version;
  const back = await exists(join(place.home, "bin", "svc.previous"));
  const server = back ? undefined : await publishBinary(place);
  try {
    const how = back ? ["--rollback"] : [];
    const { code, stderr } = await place.svc(["update", "--restart", ...how]);
    assertEquals(code, 0, stderr);
    assertNotEquals(place.discovery().version, before);
  } finally {
    await server?.[Symbol.asyncDispose]();
  }
}
