/** Commands get the variables that the person grants, and no others. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

const SHOW = 'echo "[$GRANTED_HOME][$MADE][$GRANTED_TOKEN][$LEFT_OUT]"';
const run = { calls: [{ name: "run_command", args: { command: SHOW } }] };
const DONE = { text: "Done." };
const GRANTS = '[sandbox]\nenv = ["GRANTED_HOME", "MADE=a \'b\'=c", "MISSING"]\n';
const env = { GRANTED_HOME: "/opt/granted", GRANTED_TOKEN: "secret", LEFT_OUT: "other" };

const outputs = (it: Scenario) =>
  it.client.of("session.tool_completed").map(({ data }) => data.output.trim());

Deno.test({
  name: "a command gets what is named or set; a reload adds more; work for others gets nothing",
  ignore,
  async fn() {
    const steps = [run, DONE, run, DONE, run, DONE];
    await using it = await Scenario.begin(steps, { env, toml: GRANTS });
    await it.turn("one");
    const path = join(it.place.home, "daemon.toml");
    const toml = Deno.readTextFileSync(path);
    Deno.writeTextFileSync(path, toml.replace('"MISSING"', '"GRANTED_TOKEN"'));
    await it.client.rpc.call("daemon.reload_config");
    await it.turn("two");
    const untrusted = await it.client.session({
      workdir: it.place.mkdir("hired"),
      model: it.model,
      approval: "auto",
      trust: "untrusted",
    });
    await it.client.turn(untrusted, "three");
    assertEquals(outputs(it), [
      "[/opt/granted][a 'b'=c][][]",
      "[/opt/granted][a 'b'=c][secret][]",
      "[][][][]",
    ]);
  },
});

Deno.test({
  name: "a command in the background and verify get them too",
  ignore,
  async fn() {
    const script = `${SHOW} >>"$PWD/shown"`;
    await using it = await Scenario.begin([
      { calls: [{ name: "run_command", args: { command: script, background: true } }] },
      { calls: [{ name: "verify", args: { what: "test" } }] },
      DONE,
    ], { env, toml: GRANTS });
    Deno.writeTextFileSync(join(it.workdir, "Makefile"), "test:\n\t@sh ./shows\n");
    Deno.writeTextFileSync(join(it.workdir, "shows"), script);
    await it.turn("go");
    await it.event("background.ended");
    await it.client.rpc.call("verify.test", { workdir: it.workdir });
    const shown = Deno.readTextFileSync(join(it.workdir, "shown")).trim().split("\n");
    assertEquals(shown, Array(3).fill("[/opt/granted][a 'b'=c][][]"));
  },
});

Deno.test({
  name: "a name that svc sets itself is refused with the line",
  ignore,
  async fn() {
    await using it = await Scenario.begin([DONE]);
    it.place.configure('[sandbox]\nenv = ["PATH=/tmp"]\n');
    const { code, message } = await it.client.rpc.call("daemon.reload_config").then(
      () => ({ code: "", message: "" }),
      (error) => error,
    );
    assertEquals(code, "validation");
    assertStringIncludes(message, "sandbox.env");
    assertStringIncludes(message, "cannot set PATH, which svc sets itself");
  },
});
