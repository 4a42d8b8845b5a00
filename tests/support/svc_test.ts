import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { firstLine } from "./processes.ts";
import { can_run_svc, Daemon, Place } from "./svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";

/** A process that has nothing to do with a place. */
function bystander(): Deno.ChildProcess {
  return new Deno.Command("sleep", { args: ["60"] }).spawn();
}

/** Ends a bystander. @returns the signal that it has died of. */
async function endOf(child: Deno.ChildProcess): Promise<string | null> {
  child.kill("SIGTERM");
  return (await child.status).signal;
}

Deno.test({
  name: "a daemon that has ended is not killed: its number may be another process's",
  ignore,
  async fn() {
    const other = bystander();
    const ended = new Deno.Command("true", { stdout: "piped" }).spawn();
    const listening = { pid: other.pid, port: 0, token: "", sock: "" };
    const daemon = new Daemon(ended, Promise.resolve(""), listening as never);
    await ended.status;
    await daemon.kill();
    assertEquals(await endOf(other), "SIGTERM");
  },
});

Deno.test({
  name: "what a left discovery file names is killed only if it is that daemon",
  ignore,
  async fn() {
    const other = bystander();
    const place = new Place();
    Deno.mkdirSync(place.home);
    Deno.writeTextFileSync(join(place.home, "daemon.lock"), "");
    Deno.writeTextFileSync(join(place.home, "daemon.json"), JSON.stringify({ pid: other.pid }));
    await place[Symbol.asyncDispose]();
    assertEquals(await endOf(other), "SIGTERM");

    const again = new Place();
    Deno.mkdirSync(again.home);
    const daemon = new Deno.Command("sh", {
      args: ["-c", 'exec 3>"$1"; echo; exec sleep 60', "sh", join(again.home, "daemon.lock")],
      stdout: "piped",
    }).spawn();
    await firstLine(daemon);
    const record = JSON.stringify({ pid: daemon.pid });
    Deno.writeTextFileSync(join(again.home, "daemon.json"), record);
    await again[Symbol.asyncDispose]();
    await daemon.stdout.cancel();
    assertEquals((await daemon.status).signal, "SIGKILL");
  },
});
