import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { toText } from "@std/streams";
import { takeServiceManager } from "../support/service_manager.ts";
import { can_run_svc, gone, Place, spawnSvc } from "../support/svc.ts";

const ignore = !can_run_svc;

Deno.test({
  name: "serve --status tells running, stopped and not installed by its exit code",
  ignore,
  async fn() {
    await using place = new Place();
    takeServiceManager(place);
    assertEquals((await place.svc(["serve", "--status"])).code, 4);
    const daemon = await place.serve();
    const running = await place.svc(["serve", "--status", "--json"]);
    assertEquals(running.code, 0);
    const { status, pid, port, sessions } = JSON.parse(running.stdout);
    assertEquals([status, pid, port, sessions], ["running", daemon.pid, daemon.port, 0]);
    assert(!running.stdout.includes(daemon.token));
    assertStringIncludes(
      (await place.svc(["serve", "--status"])).stdout,
      `pid               ${pid}`,
    );
    await daemon.stop();
    const stopped = await place.svc(["serve", "--status", "--json"]);
    assertEquals([stopped.code, JSON.parse(stopped.stdout).status], [3, "stopped"]);
  },
});

Deno.test({
  name: "serve restart hands over to a new daemon: subscribers are told, sessions go on",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    let id: string;
    {
      await using client = await daemon.rpc();
      id = await client.session({ workdir: place.mkdir("project") });
      await client.turn(id, "help");
      const restarted = await place.svc(["serve", "restart", "--json"]);
      assertEquals(restarted.code, 0, restarted.stderr);
      const { pid, previous_pid } = JSON.parse(restarted.stdout);
      assertEquals(previous_pid, daemon.pid);
      assertEquals(place.discovery().pid, pid);
      assertNotEquals(pid, daemon.pid);
      assertEquals((await client.wait(({ type }) => type === "session.paused")).data, {
        reason: "daemon_shutdown",
      });
    }
    assertEquals((await daemon.ended()).code, 0);
    const { stdout } = await place.svc(["ctl", "sessions", "get", id]);
    assertEquals(JSON.parse(stdout).state, "running");
  },
});

Deno.test({
  name: "serve restart starts a daemon where none runs, and says so",
  ignore,
  async fn() {
    await using place = new Place();
    const { code, stdout, stderr } = await place.svc(["serve", "restart"]);
    assertEquals(code, 0, stderr);
    assertStringIncludes(stderr, "no daemon was running");
    assertStringIncludes(stdout, `is running with pid ${place.discovery().pid}`);
  },
});

Deno.test({
  name: "Ctrl-C ends the wait of a restart; progress is told, no new daemon is started",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const id = await client.session({ workdir: place.mkdir("project"), approval: "auto" });
    // The daemon lets this come to its end before it stops.
    await client.rpc.call("session.send", { session_id: id, text: "run sleep 25" });
    await client.wait(({ type }) => type === "session.tool_started");
    const child = spawnSvc(place, ["serve", "restart"]);
    let said = "";
    let interrupted = false;
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
      said += text;
      if (said.includes("waiting for pid") && !interrupted) {
        interrupted = true;
        child.kill("SIGINT");
      }
    }
    const { code, success } = await child.status;
    assertEquals([code, success, await toText(child.stdout)], [130, false, ""]);
    assertStringIncludes(said, `waiting for pid ${daemon.pid} to stop`);
    assertStringIncludes(said, "no new one was started");
    assert(!await gone(daemon.pid, 0));
  },
});

Deno.test({
  name: "the former commands work and tell their new names in one line",
  ignore,
  async fn() {
    await using place = new Place();
    const status = await place.svc(["daemon", "status"]);
    assertEquals(
      status.stderr.split("\n")[0],
      "svc: `svc daemon status` is deprecated, use `svc ctl status`",
    );
    assertEquals((await place.svc(["daemon", "strat"])).code, 2);

    const child = spawnSvc(place, ["daemon", "start", "--addr", "127.0.0.1:0"]);
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    assertStringIncludes(new TextDecoder().decode(value), "svc is listening on http://127.0.0.1:");
    child.kill("SIGTERM");
    const { code, stderr } = await child.output();
    assertEquals(code, 0);
    assertStringIncludes(
      new TextDecoder().decode(stderr),
      "`svc daemon start` is deprecated, use `svc serve`",
    );
    assertThrows(() => place.discovery(), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "the OpenAPI description needs no token and has the routes of the running daemon",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    for (let n = 0; n < 2; n++) {
      const response = await fetch(`${daemon.url}/v1/openapi.json`);
      assertEquals([response.status, response.headers.get("content-type")], [
        200,
        "application/json",
      ]);
      const { openapi, paths } = await response.json();
      assertEquals(openapi, "3.1.0");
      assertEquals(Object.keys(paths["/v1/sessions"]).sort(), ["get", "post"]);
    }
    const posted = await fetch(`${daemon.url}/v1/openapi.json`, { method: "POST" });
    await posted.body?.cancel();
    assertEquals([posted.status, posted.headers.get("allow")], [405, "GET"]);
  },
});
