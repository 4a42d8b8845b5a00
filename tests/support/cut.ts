/** Ends of a daemon under clients that go on with the next one. */
import { assertEquals, assertNotEquals } from "@std/assert";
import { RpcClient } from "../../src/client/rpc.ts";
import { publishBinary } from "./releases.ts";
import type { Scenario } from "./scripted.ts";
import { gone, TestClient, tests_binary } from "./svc.ts";

type Cut = (it: Scenario) => Promise<void>;

/** What a person or a fault does; after a crash, the next daemon is left to the client. */
const CUTS = {
  async "a restart"({ place }) {
    const { pid, sock } = place.discovery();
    const conn = await Deno.connect({ transport: "unix", path: sock });
    await using client = new TestClient(new RpcClient(conn));
    await client.rpc.call("daemon.shutdown", { grace_s: 0 });
    await gone(pid);
    // Unless a client was faster.
    await place.serve().catch(() => {});
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

/** Updates a scenario's daemon to another version, once; its binary is installed. */
export async function update({ place }: Scenario): Promise<void> {
  const before = place.discovery().version;
  await using _server = await publishBinary(place);
  const { code, stderr } = await place.svc(["update", "--restart"]);
  assertEquals(code, 0, stderr);
  assertNotEquals(place.discovery().version, before);
}
