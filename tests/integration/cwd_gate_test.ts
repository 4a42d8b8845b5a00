import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { requireNoProcessCwd, silencedIn } from "../../install/cwd_gate.ts";
import { granted } from "../support/permissions.ts";

const ignore = !granted("read", "write", "run", "env");
const ROOT = fromFileUrl(new URL("../..", import.meta.url));

Deno.test({
  name: "the gate refuses calls and the directives that silence the rule, and nothing else",
  ignore,
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      const path = join(dir, "a.ts");
      const check = (source: string) => {
        Deno.writeTextFileSync(path, source);
        return requireNoProcessCwd([dir]);
      };
      await check("// deno-lint-ignore no-explicit-any\nexport const a: any = 1;\n");
      await check("// cwd-ok: where the person stands\nDeno.cwd();\n");
      for (
        const source of [
          "Deno.cwd();\n",
          "const d = Deno;\nd['cwd']();\n",
          "// deno-lint-ignore-file\nDeno.cwd();\n",
          "// deno-lint-ignore-file -- generated\nDeno.cwd();\n",
          "/* deno-lint-ignore-file */\nDeno.cwd();\n",
          "// deno-lint-ignore-file svc/no-process-cwd\nDeno.cwd();\n",
          "// deno-lint-ignore svc/no-process-cwd\nDeno.cwd();\n",
          "/* deno-lint-ignore no-explicit-any svc/no-process-cwd */\nDeno.cwd();\n",
        ]
      ) {
        const error = await assertRejects(() => check(source), Error);
        assertStringIncludes(error.message, "svc/no-process-cwd", source);
        assertStringIncludes(error.message, "a.ts:", source);
      }
      assertEquals((await silencedIn([dir])).length, 1);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "compile builds nothing from a source that uses the process working directory",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      const paths = ["deno.json", "deno.lock", "main.ts", "src", "install", "web"];
      const from = paths.map((path) => join(ROOT, path));
      const copied = await new Deno.Command("cp", { args: ["-R", ...from, dir] }).output();
      assertEquals(copied.success, true);
      Deno.writeTextFileSync(join(dir, "src", "late.ts"), "export const here = Deno.cwd();\n");
      const config = join(dir, "deno.json");
      const { success, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["task", "--quiet", "--config", config, "compile", "--output", join(dir, "svc")],
        env: { NO_COLOR: "1" },
      }).output();
      const said = new TextDecoder().decode(stderr);
      assertEquals(success, false);
      assertStringIncludes(said, "fix this before you build");
      assertStringIncludes(said, "late.ts:1");
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
