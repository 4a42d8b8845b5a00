/** Which packages are fetched for whom. */
import { assertEquals } from "@std/assert";
import { dirname, fromFileUrl, join } from "@std/path";
import { PROGRAM } from "../install/compile.ts";
import { granted } from "./support/permissions.ts";

const root = dirname(dirname(fromFileUrl(import.meta.url)));

/** Imported by tests, checks and the web app alone. */
const OTHERS = [
  "@mermaid-js/tiny",
  "@preact/signals",
  "@seriousme/openapi-schema-validator",
  "@tanstack/virtual-core",
  "axe-core",
  "katex",
  "playwright-core",
  "preact",
  "puppeteer-core",
  "terser",
  "typescript",
];

/** What `deno info --json` says of an entry; `npmPackages` has those of deno.lock. */
interface Graph {
  modules: { npmPackage?: string }[];
  npmPackages: Record<string, { name: string; dependencies: string[] }>;
}

Deno.test({
  name: "the program's modules import no package of the tests, the checks or the web app",
  ignore: !granted("read", "run"),
  async fn() {
    const imported = new Set<string>();
    for (const entry of PROGRAM) {
      const { success, stdout } = await new Deno.Command(Deno.execPath(), {
        args: ["info", "--json", `--config=${join(root, "deno.json")}`, join(root, entry)],
        cwd: root,
        stderr: "null",
      }).output();
      assertEquals(success, true);
      const { modules, npmPackages }: Graph = JSON.parse(new TextDecoder().decode(stdout));
      // With what they depend on: Deno fetches that too.
      const ids = new Set(modules.flatMap(({ npmPackage }) => npmPackage ?? []));
      for (const id of ids) {
        imported.add(npmPackages[id].name);
        npmPackages[id].dependencies.forEach((it) => ids.add(it));
      }
    }
    assertEquals(OTHERS.filter((name) => imported.has(name)), []);
    assertEquals(imported.has("zod"), true);
  },
});

Deno.test("Deno fetches only packages that are imported, not all of deno.json", async () => {
  const text = await Deno.readTextFile(join(root, "deno.json"));
  assertEquals(/"unstable": \[[^\]]*"npm-lazy-caching"/.test(text), true);
});
