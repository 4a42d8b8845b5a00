/**
 * Limits what a daemon loads before it listens, which determines its start time and its memory at
 * rest. Code that only some operations need is loaded by them, with `await import`.
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { fromFileUrl } from "@std/path";
import * as z from "zod";
import { granted } from "../support/permissions.ts";

const ROOT = new URL("../../", import.meta.url);

/** The packages that a daemon cannot start without. */
const PACKAGES = ["deno-std", "zod"];

/** The most characters in our own modules, without comments, which the bundle drops. */
const OWN_MAX = 510_000;

/** The parts of the output of `deno info --json` that are used here. */
interface Graph {
  modules: {
    specifier: string;
    npmPackage?: string;
    dependencies?: { code?: { specifier: string }; isDynamic?: boolean }[];
  }[];
  redirects: Record<string, string>;
}

async function graphOf(entry: string): Promise<Graph> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    cwd: fromFileUrl(ROOT),
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Returns the modules that are evaluated together with `entries`, without dynamic imports. */
function loadedBy(entries: string[], { modules, redirects }: Graph): Graph["modules"] {
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Map<string, Graph["modules"][number]>();
  const waiting = [...entries];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const module = known.get(redirects[next] ?? next);
    assert(module !== undefined, `the graph has no ${next}`);
    if (loaded.has(module.specifier)) continue;
    loaded.set(module.specifier, module);
    for (const { code, isDynamic } of module.dependencies ?? []) {
      if (code !== undefined && !isDynamic) waiting.push(code.specifier);
    }
  }
  return [...loaded.values()];
}

/** The number of characters in the lines of a source that are not comments. */
function codeIn(source: string): number {
  const code = source.split("\n").filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line));
  return code.join("\n").length;
}

Deno.test({
  name: "svc serve loads few packages and little code before it listens",
  ignore: !granted("read", "run"),
  async fn() {
    const entries = ["main.ts", "src/cli/serve.ts"].map((path) => new URL(path, ROOT).href);
    const loaded = loadedBy(entries, await graphOf("main.ts"));
    const packages = loaded.flatMap(({ npmPackage }) => npmPackage?.replace(/(?<=.)@.*/, "") ?? []);
    assertEquals([...new Set(packages)].sort(), PACKAGES);
    const own = loaded.filter(({ specifier }) => specifier.startsWith(ROOT.href));
    const sizes = own.map(({ specifier }) => codeIn(Deno.readTextFileSync(new URL(specifier))));
    assertLess(sizes.reduce((sum, size) => sum + size, 0), OWN_MAX);
  },
});

Deno.test("no schema is made before it is used", async () => {
  let made = 0;
  z.config({ postProcessor: () => void made++ });
  try {
    await import("../../src/cli/serve.ts");
    assertEquals(made, 0);
    z.string();
    assertEquals(made, 1);
  } finally {
    z.config({ postProcessor: undefined });
  }
});
