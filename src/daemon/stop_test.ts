import { assertEquals } from "@std/assert";
import type { Hub } from "../session/hub.ts";
import { feature, OpenFeatures } from "../verbs/feature.ts";
import type { Host } from "../verbs/host.ts";
import type { Jail } from "./jail.ts";
import { stopAll } from "./stop.ts";

/** A feature that tells what is asked of it. */
function telling(name: string, told: string[], fails = false) {
  const step = (what: string) => {
    told.push(`${what} ${name}`);
    return fails ? Promise.reject(new Error("it cannot")) : Promise.resolve();
  };
  return feature({
    name,
    open: () => ({
      services: {},
      finish: (grace_ms) => step(`finish in ${grace_ms} ms`),
      quiesce: () => step("quiesce"),
      stop: () => step("stop"),
    }),
  });
}

Deno.test("work ends before the sessions and features after them, the last first, whatever fails", async () => {
  const told: string[] = [];
  const errors: string[] = [];
  const list = [telling("a", told), telling("b", told, true), telling("c", told)];
  await stopAll({
    log: {
      debug() {},
      info: (message) => void told.push(message),
      warn() {},
      error: (message) => void errors.push(message),
    },
    hub: {
      async stop(_grace_ms: number, finished: Promise<void>) {
        await finished;
        told.push("sessions");
      },
    } as Partial<Hub> as Hub,
    jail: { close: () => Promise.resolve(void told.push("units")) } as unknown as Jail,
    features: new OpenFeatures(list, {} as Host),
    doors: () => undefined,
  }, 1_000);
  assertEquals(told, [
    "finish in 500 ms a",
    "finish in 500 ms b",
    "finish in 500 ms c",
    "quiesce a",
    "quiesce b",
    "quiesce c",
    "sessions",
    "stop c",
    "stop b",
    "stop a",
    "units",
    "stopped",
  ]);
  assertEquals(errors, Array(3).fill("stopping b failed"));
});
