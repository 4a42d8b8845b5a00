/** The lock of a daemon that was killed, which another process still holds. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

/** Kills a daemon and takes its lock at once, as a program does that it was just starting. */
async function leftLock(place: Place): Promise<Deno.FsFile> {
  const daemon = await place.serve();
  const file = await Deno.open(join(place.home, "daemon.lock"), { read: true, write: true });
  assertEquals(await file.tryLock(true), false);
  await daemon.kill();
  assert(await file.tryLock(true));
  return file;
}

Deno.test({
  name: "a start waits for the lock of a killed daemon that a program holds for a moment",
  ignore,
  async fn() {
    await using place = new Place();
    const file = await leftLock(place);
    let held = true;
    const timer = setTimeout(() => {
      held = false;
      file.close();
    }, 1_000);
    try {
      const daemon = await place.serve();
      assertEquals(held, false);
      assertEquals((await daemon.http("GET", "/v1/sessions")).status, 200);
    } finally {
      clearTimeout(timer);
      if (held) file.close();
    }
  },
});

Deno.test({
  name: "a start gives up on a lock that stays taken, and starts once it is free",
  ignore,
  async fn() {
    await using place = new Place();
    const file = await leftLock(place);
    try {
      const { code, stderr } = await place.svc(["serve"]);
      assertEquals(code, 1);
      assertStringIncludes(stderr, "a daemon is already running");
    } finally {
      file.close();
    }
    await place.serve();
  },
});
