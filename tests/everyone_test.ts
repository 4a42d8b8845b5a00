import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { dirname, fromFileUrl, join, toFileUrl } from "@std/path";
import { everyonesTemp } from "./support/everyone.ts";
import { granted } from "./support/permissions.ts";

const NOBODY = 65534;
const MODULE = import.meta.resolve("./support/everyone.ts");

Deno.test({
  name: "another user runs a program of a closed home, and its copy goes with the test run",
  ignore: Deno.build.os !== "linux" || !granted("read", "write", "run", "env", "sys", "net") ||
    Deno.uid() !== 0,
  async fn() {
    const home = Deno.makeTempDirSync({ dir: everyonesTemp(), prefix: "svc-test-" });
    try {
      const program = join(home, "a program");
      Deno.writeTextFileSync(program, "#!/bin/sh\necho ran\n", { mode: 0o700 });
      const as = { cwd: "/", uid: NOBODY, gid: NOBODY, stdout: "piped", stderr: "null" };
      const test = `import { forEveryone } from ${JSON.stringify(MODULE)};
        Deno.test("a", () => {
          const program = forEveryone(${JSON.stringify(program)});
          const { stdout } = new Deno.Command(program, ${JSON.stringify(as)}).outputSync();
          Deno.writeTextFileSync(new URL(import.meta.url + ".told"), JSON.stringify({
            program,
            same: forEveryone(${JSON.stringify(program)}) === program,
            ran: new TextDecoder().decode(stdout),
          }));
        });`;
      const files = ["one_test.ts", "two_test.ts"].map((name) => join(home, name));
      for (const file of files) Deno.writeTextFileSync(file, test);
      const { code, stdout } = await new Deno.Command(Deno.execPath(), {
        args: ["test", "--quiet", "--no-check", "--allow-all", "--parallel"].concat(
          `--config=${fromFileUrl(import.meta.resolve("../deno.json"))}`,
          files.map((path) => toFileUrl(path).href),
        ),
      }).output();
      assertEquals(code, 0, new TextDecoder().decode(stdout));
      for (const file of files) {
        const told = JSON.parse(Deno.readTextFileSync(`${file}.told`));
        assertEquals([told.ran, told.same], ["ran\n", true]);
        assertNotEquals(told.program, program);
        const copies = dirname(dirname(told.program));
        assertThrows(() => Deno.statSync(copies), Deno.errors.NotFound);
      }
    } finally {
      Deno.removeSync(home, { recursive: true });
    }
  },
});
