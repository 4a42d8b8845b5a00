/** The questions of all sessions in one queue, and who is told of those that wait. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { hasProgram } from "../support/programs.ts";

const ignore = !can_run_svc;
const ASKING = { model: "builtin/toolbelt", approval: "ask" };
const HOSTILE = "echo \u202e<b>$(id)</b>\x1b[2J";

Deno.test({
  name: "questions of all sessions are one list, answered from the command line; the first counts",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    await using client = await daemon.rpc();
    const ids: string[] = [];
    for (const name of ["one", "two"]) {
      const id = await client.session({ ...ASKING, workdir: place.mkdir(name), title: name });
      ids.push(id);
      await client.rpc.call("session.send", { session_id: id, text: `run ${HOSTILE} ${name}` });
      await client.wait(({ type, session_id }) =>
        type === "approval.requested" && session_id === id
      );
    }
    const { approvals, more } = await client.rpc.call("approvals.list", {});
    assertEquals([approvals.map((it: { title: string }) => it.title), more], [
      ["one", "two"],
      false,
    ]);
    assertEquals(approvals[0].reason, `run ${HOSTILE} one`);
    const { json } = await daemon.http("GET", "/v1/approvals");
    assertEquals(json.approvals, approvals);
    assertEquals((await client.rpc.call("approvals.list", { limit: 1 })).more, true);

    const list = await place.svc(["ctl", "approvals", "list"]);
    assertStringIncludes(list.stdout, "run echo \\u{202e}<b>$(id)</b>\\u{1b}[2J one");
    const answer = (id: string, decision: string) =>
      place.svc(["ctl", "approvals", "answer", id, decision]);
    const [{ approval_id: first }] = approvals;
    assertEquals((await answer(first, "maybe")).code, 2);
    const denied = await answer(first, "deny");
    assertEquals(denied.code, 0);
    assertStringIncludes(denied.stdout, "run echo \\u{202e}");
    const late = await answer(first, "allow");
    assertEquals(late.code, 1);
    assertStringIncludes(late.stderr, "somebody may have answered it");
    await client.wait(({ type, session_id }) => type === "turn.completed" && session_id === ids[0]);

    await daemon.kill();
    daemon = await place.serve();
    const { stdout } = await place.svc(["ctl", "approvals", "list", "--json"]);
    assert(!stdout.includes(first));
  },
});

Deno.test({
  name: "a program of the person's gets each question that waits, and none that was answered",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    await using place = new Place({ MODEL_KEY: "sk-secret" });
    const told = join(place.mkdir("told"), "notices");
    const program = join(place.mkdir("bin"), "push");
    Deno.writeTextFileSync(program, `#!/bin/sh\n{ cat; echo; env; } >> "$1"\n`, { mode: 0o755 });
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    place.configure(
      `[notifications]\nafter_s = 1\ncommand = ${JSON.stringify([program, told])}\n`,
    );
    await client.rpc.call("daemon.reload_config", {});
    const id = await client.session({ ...ASKING, workdir: place.mkdir("project"), title: "mine" });
    const ask = async (text: string) => {
      const before = client.of("approval.requested").length;
      await client.rpc.call("session.send", { session_id: id, text });
      await client.wait(() => client.of("approval.requested").length > before, "a question");
      return client.of("approval.requested").at(-1)!.data.approval_id;
    };
    const deny = (approval_id: string) =>
      client.rpc.call("session.approve", { session_id: id, approval_id, decision: "deny" });
    await deny(await ask("run echo answered"));
    const waits = await ask(`run ${HOSTILE}`);
    const said = () => {
      try {
        return Deno.readTextFileSync(told);
      } catch {
        return "";
      }
    };
    await until(() => said().includes("PATH="), "the program was told");
    const [line] = said().split("\n");
    const { approval_id, session_id, title, tool, reason } = JSON.parse(line);
    assertEquals([approval_id, session_id, title], [waits, id, "mine"]);
    assertEquals([tool, reason], ["run_command", `run ${HOSTILE}`]);
    assert(!said().includes("sk-secret") && !said().includes(daemon.token));
    assert(!said().includes("answered"));
    await deny(waits);
  },
});

Deno.test({
  name: "a program of the person's is told of a long turn, and of a question again after a restart",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    const told = join(place.mkdir("told"), "notices");
    const program = join(place.mkdir("bin"), "push");
    Deno.writeTextFileSync(program, `#!/bin/sh\n{ cat; echo; } >> "$1"\n`, { mode: 0o755 });
    const command = JSON.stringify([program, told]);
    place.configure(`[notifications]\nafter_s = 3\nturn_s = 1\ncommand = ${command}\n`);
    const notices = () => {
      const text = Deno.readTextFileSync(told).trimEnd();
      return text.split("\n").map((line) => JSON.parse(line));
    };
    let daemon = await place.serve();
    const asking = { ...ASKING, workdir: place.mkdir("asking"), title: "asks" };
    let short_ms: number;
    {
      await using client = await daemon.rpc();
      const workdir = place.mkdir("project");
      const id = await client.session({ ...ASKING, approval: "auto", workdir, title: "works" });
      const { at } = await client.turn(id, "run echo short");
      const [{ at: begun }] = client.of("turn.started");
      short_ms = Date.parse(at) - Date.parse(begun);
      await client.turn(id, "run sleep 1.2; echo long");
      const asks = await client.session(asking);
      await client.rpc.call("session.send", { session_id: asks, text: "run echo waits" });
      await client.wait(({ type }) => type === "approval.requested");
      // Before the question has waited for long enough.
      await client.rpc.call("daemon.shutdown", { grace_s: 0 });
    }
    await daemon.ended();
    daemon = await place.serve();
    const of = (event: string) => notices().filter((it) => it.event === event);
    await until(() => of("approval.waiting").length === 1, "the notice of the question");
    const [ended, ...others] = of("turn.ended").toReversed();
    assertEquals([ended.title, ended.stop_reason], ["works", "ok"]);
    assertStringIncludes(ended.text, "long");
    // On a slow machine a short turn may be long.
    assertEquals(others.length, short_ms < 1_000 ? 0 : 1);
    assertEquals(of("approval.waiting")[0].title, "asks");
    await daemon.stop();
  },
});

Deno.test({
  name: "a notification is on the desktop, with its text as it is",
  ignore: ignore || Deno.build.os !== "linux" ||
    ![...["Xvfb", "dbus-run-session", "dunst", "dunstctl", "notify-send"]].every(hasProgram),
  async fn() {
    await using place = new Place();
    const out = place.mkdir("out");
    // A desktop of its own: a screen, a bus, and what shows notifications.
    const script = `
      Xvfb -displayfd 3 -screen 0 640x480x8 3>display >/dev/null 2>&1 & screen=$!
      trap 'kill $screen $shows 2>/dev/null' EXIT
      while ! [ -s display ]; do sleep 0.1; done
      export DISPLAY=:$(cat display)
      dunst -conf /dev/null >/dev/null 2>&1 & shows=$!
      until dunstctl count >/dev/null 2>&1; do sleep 0.1; done
      echo "$DBUS_SESSION_BUS_ADDRESS" > address.new; mv address.new address
      while ! [ -e done ]; do dunstctl history > history.new 2>/dev/null; mv history.new history
        dunstctl close-all; sleep 0.2; done`;
    const desktop = new Deno.Command("dbus-run-session", {
      args: ["--", "/bin/sh", "-c", script],
      cwd: out,
      env: { XDG_RUNTIME_DIR: out },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    try {
      const read = (name: string) => {
        try {
          return Deno.readTextFileSync(join(out, name)).trim();
        } catch {
          return "";
        }
      };
      await until(() => read("address") !== "", "the desktop", 60_000);
      const env = { DISPLAY: `:${read("display")}`, DBUS_SESSION_BUS_ADDRESS: read("address") };
      await using other = new Place(env);
      other.configure("[notifications]\nafter_s = 0\n");
      const daemon = await other.serve();
      await using client = await daemon.rpc();
      await client.rpc.call("daemon.set_config", { changes: { "notifications.desktop": true } });
      const workdir = other.mkdir("project");
      const session_id = await client.session({ ...ASKING, workdir, title: "<i>mine</i>" });
      await client.rpc.call("session.send", { session_id, text: `run ${HOSTILE}` });
      const shown = () => read("history");
      await until(() => shown().includes("asks"), "the notification", 60_000);
      const [[notice]] = JSON.parse(shown()).data;
      const text = (value: string) =>
        value.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
      assertEquals(text(notice.summary.data), "<i>mine</i> asks");
      assertEquals(text(notice.body.data), "run echo \\u{202e}<b>$(id)</b>\\u{1b}[2J");
      assertEquals(notice.appname.data, "svc");
    } finally {
      Deno.writeTextFileSync(join(out, "done"), "");
      await desktop.status;
    }
  },
});
