/** svc from a clone: what it tells people to run is what they can run. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { can_run_svc, Place, svcCommand } from "../support/svc.ts";

const NAME = "sh install/dev.sh";

/** A place where svc was started by install/dev.sh. */
function placeOfClone(): Place {
  const [program, first] = svcCommand();
  const own = first.filter((it) => !it.startsWith("--called-as="));
  return new Place({}, { command: [program, [...own, `--called-as=${NAME}`]] });
}

Deno.test({
  name: "hints of the daemon and of the command line name svc as it was called",
  ignore: !can_run_svc,
  async fn() {
    await using place = placeOfClone();
    const workdir = place.mkdir("project");
    const none = await place.svc(["ctl", "sessions", "list"]);
    assertStringIncludes(none.stderr, `\`${NAME} serve\` and \`${NAME} chat\` start one`);
    const keyless = await place.svc(["chat", workdir, "-m", "openai/gpt-5", "-p", "hi"]);
    assertStringIncludes(keyless.stderr, `run \`${NAME} login openai\``);
    const help = await place.svc(["chat", workdir, "-p", "help"]);
    assertStringIncludes(help.stdout, `save its API key with \`${NAME} login\``);
    const doctor = await place.svc(["doctor"]);
    assert(!/`svc [a-z]/.test(doctor.stdout), doctor.stdout);
    const wrong = await place.svc(["chta"]);
    assertEquals(wrong.stderr.split("\n")[1].trim(), `did you mean "${NAME} chat"?`);
  },
});
