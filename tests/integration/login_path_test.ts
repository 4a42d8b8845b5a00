/** Programs that only a person's login shell finds, for a daemon that no terminal started. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { Finding } from "../../src/cli/doctor/check.ts";
import { instruct } from "../support/instruct.ts";
import { hasProgram } from "../support/programs.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows" || !hasProgram("bash");
const MODEL = { model: "builtin/toolbelt", approval: "auto" };
/** As Debian's: a shell that is not interactive reads no further. */
const GUARDED = "case $- in *i*) ;; *) return ;; esac\n";

/** A person whose start-up files note that they were read, and add a directory with `svc-made`. */
function personWith(profile: string, env: Record<string, string> = {}): Place {
  const place = new Place({ PATH: "/usr/bin:/bin", SHELL: "/bin/bash", ...env });
  const tools = place.mkdir("person/.nvm/versions/bin");
  Deno.writeTextFileSync(join(tools, "svc-made"), "#!/bin/sh\necho made at home\n", {
    mode: 0o755,
  });
  const text = `echo read >>"$HOME/read"\n${profile}\n`;
  Deno.writeTextFileSync(join(place.dir, "person/.bash_profile"), text);
  Deno.writeTextFileSync(
    join(place.dir, "person/.bashrc"),
    `${GUARDED}PATH="$HOME/.nvm/versions/bin:$PATH"\n`,
  );
  return place;
}

/** The outputs of the program, in two turns. */
async function outputs(place: Place, daemon: Daemon): Promise<string[]> {
  await using client = await daemon.rpc();
  const id = await client.session({ workdir: place.mkdir("project"), ...MODEL });
  const run = async () => (await instruct(client, id, "run svc-made")).output;
  return [await run(), await run()];
}

function wasRead(place: Place): boolean {
  return [...Deno.readDirSync(join(place.dir, "person"))].some(({ name }) => name === "read");
}

async function doctor(place: Place): Promise<Finding> {
  const { checks } = JSON.parse((await place.svc(["doctor", "--json"])).stdout);
  return checks.find(({ name }: Finding) => name === "path");
}

const log = (place: Place) => Deno.readTextFileSync(join(place.home, "log", "daemon.ndjson"));

Deno.test({
  name: "commands find what the login shell adds, also after a restart; a unit's do as well",
  ignore,
  async fn() {
    await using place = personWith('echo "Welcome: $PATH"; . "$HOME/.bashrc"');
    for (const args of [[], ["--unit"]]) {
      const daemon = await place.serve(...args);
      assertEquals(await outputs(place, daemon), ["made at home", "made at home"]);
      const { status, message } = await doctor(place);
      assertEquals(status, "ok", message);
      assertStringIncludes(message, "with what your login shell /bin/bash adds");
      assertStringIncludes(message, join(place.dir, "person/.nvm/versions/bin"));
      await daemon.stop();
    }
    assertEquals(log(place).split("the login shell was asked for its PATH").length - 1, 2);
  },
});

Deno.test({
  name: "a daemon that a terminal started runs no shell, nor does one with login_path = false",
  ignore,
  async fn() {
    const profile = '. "$HOME/.bashrc"';
    for (const env of [{ TERM: "xterm" }, {}] as Record<string, string>[]) {
      await using place = personWith(profile, env);
      if (env.TERM === undefined) place.configure("[sandbox]\nlogin_path = false\n");
      const daemon = await place.serve();
      for (const output of await outputs(place, daemon)) assertMatch(output, /not found/);
      assertEquals(wasRead(place), false);
      const { status, message } = await doctor(place);
      assertEquals(status, "ok");
      assertMatch(message, env.TERM ? /from the terminal/ : /login_path = false in daemon.toml/);
    }
  },
});

Deno.test({
  name: "start-up files that fail or hang change nothing, and doctor says so",
  ignore,
  async fn() {
    const cases: [profile: string, problem: RegExp][] = [
      ["exit 3", /\/bin\/bash ended with exit code 3 before it printed its PATH/],
      ['sleep 600 & echo $! >"$HOME/pid"; while :; do sleep 1; done', /did not answer in 5 s/],
    ];
    for (const [profile, problem] of cases) {
      await using place = personWith(profile);
      const daemon = await place.serve();
      for (const output of await outputs(place, daemon)) assertMatch(output, /not found/);
      assert(wasRead(place));
      const { status, message } = await doctor(place);
      assertEquals(status, "warn");
      assertMatch(message, problem);
      assertStringIncludes(log(place), "the login shell gave no PATH");
    }
  },
});

Deno.test({
  name: "the shell is not asked while a session works in the home, whose files commands can make",
  ignore,
  async fn() {
    await using place = personWith('. "$HOME/.bashrc"');
    const first = await place.serve();
    // Control: it is asked before that.
    await until(() => wasRead(place), "the shell is asked");
    {
      await using client = await first.rpc();
      await client.session({ workdir: place.env.HOME, ...MODEL });
      assertEquals((await doctor(place)).status, "ok");
    }
    await first.stop();
    Deno.removeSync(join(place.dir, "person/read"));
    const daemon = await place.serve();
    for (const output of await outputs(place, daemon)) assertMatch(output, /not found/);
    assertEquals(wasRead(place), false);
    assertStringIncludes((await doctor(place)).message, "a session works in your home");
  },
});
