import { assertEquals } from "@std/assert";
import plugin from "./no_process_cwd.ts";

function problems(source: string): string[] {
  return Deno.lint.runPlugin(plugin, "source.ts", source).map((it) => it.id);
}

const FOUND = ["svc/no-process-cwd"];

for (
  const source of [
    "Deno.cwd();",
    "Deno.chdir('/x');",
    "process.cwd();",
    "globalThis.Deno.cwd();",
    "Deno['cwd']();",
    "const dir = Deno.cwd;",
    "const { cwd } = Deno;",
    "import { chdir } from 'node:process';",
    "resolve('');",
    "path.resolve('.');",
    "path.resolve('a', b);",
    "Deno.realPathSync('');",
    "// cwd-ok:\nDeno.cwd();",
  ]
) {
  Deno.test(`the rule finds ${JSON.stringify(source)}`, () => {
    assertEquals(problems(source), FOUND);
  });
}

for (
  const source of [
    "// cwd-ok: an argument is relative to where the person stands\nDeno.cwd();",
    "resolve('/a', b);",
    "path.resolve(workdir, name);",
    "Promise.resolve('');",
    "models.resolve('local/m');",
    "Deno.realPath(path);",
    "session.cwd;",
  ]
) {
  Deno.test(`the rule lets ${JSON.stringify(source)} through`, () => {
    assertEquals(problems(source), []);
  });
}
