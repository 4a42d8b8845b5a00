import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

Deno.test({
  name: "svc chat -p starts a daemon that goes on, prints the answer and exits 0",
  ignore,
  async fn() {
    await using place = new Place();
    const cwd = place.mkdir("project");
    Deno.writeTextFileSync(join(cwd, "hello.txt"), "hi");
    const first = await place.svc(["chat", "-p", "ls"], { cwd });
    assertEquals(first.code, 0, first.stderr);
    assertStringIncludes(first.stdout, "hello.txt");
    const { pid } = place.discovery();
    const second = await place.svc(["chat", "-p", "read hello.txt"], { cwd });
    assertEquals(second, { code: 0, stdout: "hi\n", stderr: "" });
    assertEquals(place.discovery().pid, pid);
  },
});

Deno.test({
  name: "svc chat takes a piped prompt, denies what nobody can approve, and says how to allow it",
  ignore,
  async fn() {
    await using place = new Place();
    const cwd = place.mkdir("project");
    const denied = await place.svc(["chat"], { cwd, stdin: "run echo done\n" });
    assertStringIncludes(denied.stderr, "--approve auto");
    assertStringIncludes(denied.stdout, "denied");
    const allowed = await place.svc(["chat", "--approve", "auto"], { cwd, stdin: "run echo done" });
    assertEquals(allowed, { code: 0, stdout: "done\n", stderr: "" });
  },
});

Deno.test({
  name: "svc chat -p does not promise that --approve auto allows what every session asks about",
  ignore,
  async fn() {
    for (const scope of ["Global", "Always", "Session"]) {
      const args = { content: "the vault is open", category: "preference", scope };
      await using it = await Scenario.begin([
        { calls: [{ name: "remember", args }] },
        { text: "Done." },
      ], { start: { approval: "ask" } });
      const said = ["chat", "--session", it.session_id, "-p", "go"];
      const { stderr } = await it.place.svc(said);
      assertStringIncludes(stderr, "denied, because nobody can be asked");
      assertEquals(stderr.includes("--approve auto"), scope === "Session", stderr);
      assertEquals(stderr.includes(`svc chat --session ${it.session_id}`), scope !== "Session");
    }
  },
});

Deno.test({
  name: "svc chat --json prints events, one a line, and -c goes on with the session",
  ignore,
  async fn() {
    await using place = new Place();
    const cwd = place.mkdir("project");
    const first = await place.svc(["chat", "--json", "-p", "help"], { cwd });
    const events = first.stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(events.at(-1).type, "turn.completed");
    const second = await place.svc(["chat", "-c", "--json", "-p", "help"], { cwd });
    const [event] = second.stdout.split("\n");
    assertEquals(JSON.parse(event).session_id, events[0].session_id);
  },
});

Deno.test({
  name: "wrong usage exits 2 and names the nearest known word",
  ignore,
  async fn() {
    await using place = new Place();
    const command = await place.svc(["chta"]);
    assertEquals(command.code, 2);
    assertStringIncludes(command.stderr, 'did you mean "svc chat"?');
    const flag = await place.svc(["chat", "--promt", "x"]);
    assertEquals(flag.code, 2);
    assertStringIncludes(flag.stderr, "did you mean --prompt?");
    const address = await place.svc(["serve", "--addr", "0.0.0.0:1"]);
    assertEquals(address.code, 2);
  },
});

Deno.test({
  name: "svc ctl shows, starts, calls and kills",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    const started = await place.svc(["ctl", "sessions", "start", workdir]);
    assertMatch(started.stdout, /^sess_[0-9A-Z]{26}\n$/);
    const id = started.stdout.trim();
    const list = await place.svc(["ctl", "sessions", "list", "--json"]);
    assertEquals(JSON.parse(list.stdout).sessions[0].id, id);
    const got = await place.svc(["ctl", "sessions", "get", id]);
    assertEquals(JSON.parse(got.stdout).workdir, workdir);
    const health = await place.svc(["ctl", "call", "daemon.health"]);
    assertEquals(JSON.parse(health.stdout).sessions, 1);
    const discover = await place.svc(["ctl", "discover", "--json"]);
    assertEquals(JSON.parse(discover.stdout).port, daemon.port);
    assertEquals((await place.svc(["ctl", "sessions", "kill", id])).code, 0);
    const again = await place.svc(["ctl", "sessions", "kill", id]);
    assertEquals(again.code, 1);
    assertStringIncludes(again.stderr, "has ended");
  },
});

Deno.test({
  name: "a daemon that cannot start says why to the client that wanted it",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure("[agent]\nmax_step = 3\n");
    const result = await place.svc(["chat", "-p", "ls"]);
    assertEquals(result.code, 1);
    assertStringIncludes(result.stderr, "daemon.toml:2: unknown key agent.max_step");
    assertStringIncludes(result.stderr, "did you mean agent.max_steps?");
  },
});
