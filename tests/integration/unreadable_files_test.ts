/** Files of rules, commands and skills that cannot be read are named in every face. */
import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { dirname, join } from "@std/path";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

function write(it: Scenario, files: Record<string, string | Uint8Array>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(it.workdir, name);
    Deno.mkdirSync(dirname(path), { recursive: true });
    if (typeof content === "string") Deno.writeTextFileSync(path, content);
    else Deno.writeFileSync(path, content);
  }
}

const BINARY = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]);
/** Each is refused for another reason. */
const BAD = {
  "AGENTS.md": `rules ${"x".repeat(70_000)}`,
  ".agents/commands/open.md": "---\ndescription: never closed\n",
  ".agents/commands/picture.md": BINARY,
  ".agents/skills/long/SKILL.md": `---\nname: long\ndescription: d\n---\n${"x".repeat(70_000)}`,
};
const NAMED = [
  /rules left out: \S*AGENTS\.md \(.*65536 bytes/,
  /\S*open\.md: its front matter has no closing line/,
  /\S*picture\.md: is not text/,
  /\S*long\/SKILL\.md: has more than 65536 bytes/,
];

Deno.test({
  name: "svc chat -p names on standard error what it cannot read, whatever it prints",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }));
    write(it, BAD);
    for (const output of ["text", "json", "stream-json"]) {
      const args = ["chat", "--model", it.model, "--output", output, "-p", "go"];
      const { code, stdout, stderr } = await it.place.svc(args, { cwd: it.workdir });
      assertEquals(code, 0, stderr);
      for (const what of NAMED) assertMatch(stderr, what);
      assertEquals(stderr.split("\n").length, 3, stderr);
      if (output === "text") assertEquals(stdout, "Yes.\n");
    }
  },
});

Deno.test({
  name: "the terminal names what cannot be read, also a file that is spoilt later, and each once",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }));
    write(it, { ...BAD, ".agents/commands/good.md": "Fine." });
    const screen = async () => (await it.call("tui.snapshot", { cols: 240, rows: 60 })).view;
    await it.turn("one");
    await until(async () => /Yes\./.test(await screen()), "the answer");
    for (const what of NAMED) assertMatch(await screen(), what);
    assertNotMatch(await screen(), /good\.md/);
    await it.turn("two");
    assertEquals((await screen() as string).match(/open\.md/g)!.length, 1);
    write(it, { ".agents/commands/good.md": "---\n" });
    await it.turn("three");
    await until(async () => /good\.md: its front matter/.test(await screen()), "the spoilt file");
  },
});

Deno.test({
  name: "rules, commands and skills in other encodings are read as what they say",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Yes." }));
    const utf16 = (text: string) =>
      new Uint8Array([0xff, 0xfe, ...[...text].flatMap((it) => [it.charCodeAt(0), 0])]);
    const latin1 = (text: string) => Uint8Array.from(text, (it) => it.charCodeAt(0));
    write(it, {
      "AGENTS.md": utf16("Die Größe zählt."),
      ".agents/commands/grow.md": latin1("Mach es größer."),
      ".agents/skills/fit/SKILL.md": latin1(
        "---\nname: fit\ndescription: für Größen\n---\nMessen.",
      ),
    });
    await it.turn("go");
    const told = JSON.stringify(it.server.requests[0].body.messages);
    assert(told.includes("Die Größe zählt."), told);
    assert(told.includes("für Größen"), told);
    assertEquals((await it.call("commands.expand", { text: "/grow" })).text, "Mach es größer.");
  },
});
