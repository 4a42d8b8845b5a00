import { assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { killKeepers } from "../support/port_keeper.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

/** Only what opens addresses there; what it was given is written beside it. */
const ignore = !can_run_svc || Deno.build.os !== "linux";

/** A folder with an `xdg-open` that does what `script` says. */
function openerIn(place: Place, script: string): string {
  const dir = place.mkdir("bin");
  Deno.writeTextFileSync(join(dir, "xdg-open"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return dir;
}

Deno.test({
  name: "open starts the daemon, prints the address and hands it to the system",
  ignore,
  async fn() {
    await using place = new Place();
    const told = join(place.dir, "told");
    place.env.PATH = `${openerIn(place, `printf %s "$1" > ${told}`)}:${place.env.PATH}`;
    const { code, stdout, stderr } = await place.svc(["open"]);
    assertEquals(code, 0, stderr);
    const url = `http://127.0.0.1:${place.discovery().port}/`;
    assertEquals(stdout, `${url}\n`);
    // An opener that is slow is not waited for.
    const opened = () => Deno.readTextFile(told).catch(() => "");
    await until(async () => await opened() !== "", "what the opener was given");
    assertEquals(await opened(), url);
    const response = await fetch(url, { headers: { accept: "text/html" } });
    await response.body?.cancel();
    assertMatch(response.headers.get("content-type")!, /^(text\/html|application\/json)/);
  },
});

Deno.test({
  name: "open prints the address where no browser can be started, and names a session",
  ignore,
  async fn() {
    await using place = new Place();
    place.env.PATH = `${openerIn(place, "exit 3")}:${place.env.PATH}`;
    const daemon = await place.serve();
    const { json } = await daemon.http("POST", "/v1/sessions", { workdir: place.mkdir("w") });
    const path = `/sessions/${json.session_id}`;
    const failed = await place.svc(["open", json.session_id]);
    assertEquals([failed.code, failed.stdout], [1, `${daemon.url}${path}\n`]);
    assertStringIncludes(failed.stderr, "open the address above yourself");
    const printed = await place.svc(["open", "--print"]);
    assertEquals([printed.code, printed.stdout], [0, `${daemon.url}/\n`]);
    assertEquals((await place.svc(["open", "sess_00000000000000000000000000"])).code, 1);
    assertEquals((await place.svc(["open", "a", "b"])).code, 2);
  },
});

Deno.test({
  name: "`svc open` finds the daemon wherever it listens after a crash and a restart",
  ignore: !can_run_svc,
  async fn() {
    await using place = new Place();
    const address = async () => (await place.svc(["open", "--print"])).stdout.trim();
    const first = await place.serve();
    await killKeepers(place);
    await first.kill();
    const second = await place.serve();
    assertNotEquals(second.port, first.port);
    assertEquals(await address(), `${second.url}/`);
    assertEquals((await place.svc(["serve", "restart"])).code, 0);
    await second.ended();
    const { port } = place.discovery();
    assertEquals(await address(), `http://127.0.0.1:${port}/`);
  },
});
