/** The GitHub Action of install/action, its script run as a job's step runs it. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { parse } from "@std/yaml";
import { shellQuote } from "../../src/base/shell_quote.ts";
import { granted } from "../support/permissions.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const folder = fromFileUrl(new URL("../../install/action/", import.meta.url));
const ignore = !can_run_svc || Deno.build.os === "windows";

interface Action {
  inputs: Record<string, { description: string; required?: boolean; default?: string }>;
  runs: { steps: { env: Record<string, string>; run: string }[] };
}

const action = () => parse(Deno.readTextFileSync(join(folder, "action.yml"))) as Action;

Deno.test({
  name: "each input of the action reaches a script, as a variable and never as shell",
  ignore: !granted("read"),
  fn() {
    const { inputs, runs: { steps } } = action();
    const used = new Set<string>();
    for (const { env, run } of steps) {
      assert(!run.includes("${{"), run);
      const script = run.match(/\/(\w+\.sh)"$/)![1];
      const text = Deno.readTextFileSync(join(folder, script));
      for (const [name, value] of Object.entries(env)) {
        assertStringIncludes(text, name);
        for (const [, input] of value.matchAll(/inputs\.([\w-]+)/g)) used.add(input);
      }
      for (const [, name] of text.matchAll(/\$\{?(SVC_\w+)/g)) assert(name in env, name);
    }
    assertEquals([...used].sort(), Object.keys(inputs).sort());
  },
});

/** Runs the script that asks. @returns its outcome and the outputs of the step. */
async function ask(place: Place, given: Record<string, string>) {
  const { inputs, runs: { steps } } = action();
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(steps[1].env)) {
    const input = value.match(/inputs\.([\w-]+)/)![1];
    env[name] = given[input] ?? inputs[input].default ?? "";
  }
  const bin = place.mkdir("bin");
  const [program, args] = place.command;
  const quoted = [program, ...args].map(shellQuote).join(" ");
  Deno.writeTextFileSync(join(bin, "svc"), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
  const outputs = join(place.dir, "outputs");
  Deno.writeTextFileSync(outputs, "");
  const { code, stderr } = await new Deno.Command("sh", {
    args: [join(folder, "ask.sh")],
    env: { ...place.env, ...env, PATH: `${bin}:${place.env.PATH}`, GITHUB_OUTPUT: outputs },
    clearEnv: true,
    cwd: place.mkdir("project"),
    stdin: "null",
  }).output();
  const lines = Deno.readTextFileSync(outputs).trimEnd().split("\n");
  return { code, stderr: new TextDecoder().decode(stderr), lines };
}

Deno.test({
  name: "the action asks, allows what its rules allow, and cannot be told another exit code",
  ignore,
  async fn() {
    await using place = new Place();
    const model = "builtin/toolbelt";
    const approve = "ask";
    const hostile = "run echo 'a $(touch pwned) \"; touch pwned; \\nexit-code=7'; echo exit-code=9";
    const said = await ask(place, { prompt: hostile, model, approve, allow: "run_command\n" });
    assertEquals(said.code, 0, said.stderr);
    const [json, code, ...more] = said.lines;
    assertEquals([code, more], ["exit-code=0", []]);
    const { result, denied } = JSON.parse(json.slice("json=".length));
    assertStringIncludes(result, "a $(touch pwned)");
    assertStringIncludes(result, "exit-code=9");
    assertEquals(denied, 0);
    // The session goes with what it kept.
    const left = [...Deno.readDirSync(join(place.dir, "project"))].map(({ name }) => name);
    assertEquals(left.filter((name) => name !== ".svc"), []);

    // The rules of one run are not those of the next; the stricter one holds.
    const prompt = "run echo two";
    for (const deny of ["", "run_command: echo *"]) {
      const allow = deny === "" ? "" : "run_command: echo *";
      const refused = await ask(place, { prompt, model, approve, allow, deny });
      const told = JSON.parse(refused.lines[0].slice("json=".length));
      assertMatch(told.result, /denied|refuse/, told.result);
    }
  },
});

Deno.test({
  name: "a run that fails fails the step, unless the workflow wants to look at it itself",
  ignore,
  async fn() {
    await using place = new Place();
    const given = { prompt: "ls", model: "nobody/nothing" };
    const failed = await ask(place, given);
    assert(failed.code !== 0, failed.stderr);
    assertEquals(failed.lines[1], `exit-code=${failed.code}`);
    const looked_at = await ask(place, { ...given, fail: "false" });
    assertEquals(looked_at.code, 0, looked_at.stderr);
    assertEquals(looked_at.lines[1], failed.lines[1]);
    const wrong = await ask(place, { ...given, allow: "run_command: " });
    assertEquals(wrong.lines, ["json=", "exit-code=2"]);
    assertStringIncludes(wrong.stderr, "--allow: the pattern is missing");
  },
});
