/**
 * Builds the one binary: bundles main.ts and the unit's entry, then compiles the result. Bundled, it
 * starts faster and stays smaller in memory than compiled from the modules themselves.
 *
 *   deno task compile [--output <path>] [--target <triple>]
 *
 * DENORT_BIN, when set, names the runtime to compile into; otherwise Deno downloads its own.
 */
import { dirname, fromFileUrl, join } from "@std/path";
import { parseArgs } from "@std/cli/parse-args";
import { emptyDir, walk } from "@std/fs";
import { buildWeb, copyWeb } from "./web.ts";

const root = dirname(dirname(fromFileUrl(import.meta.url)));
const bundle = join(root, "dist", "bundle");
/** Marks where the build's revision goes, see src/version.ts. */
const REVISION_MARK = "@revision@";

async function deno(...args: string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), { args, cwd: root }).spawn().status;
  if (!success) throw new Error(`deno ${args.join(" ")} failed`);
}

async function revision(): Promise<string> {
  const git = new Deno.Command("git", {
    args: ["describe", "--always", "--dirty", "--abbrev=10"],
    cwd: root,
    stderr: "null",
  });
  try {
    const { success, stdout } = await git.output();
    if (success) return new TextDecoder().decode(stdout).trim();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return "unversioned";
}

const { output = join(root, "dist", "svc"), target } = parseArgs(Deno.args, {
  string: ["output", "target"],
});
/** Bundles entries with what they load, minified; other chunks stay lazy. */
async function bundled(outdir: string, entries: string[], external: string[] = []): Promise<void> {
  const args = [
    "bundle",
    "--quiet",
    "--platform=deno",
    "--code-splitting",
    ...external.map((path) => `--external=${path}`),
  ];
  const plain = await Deno.makeTempDir();
  await deno(...args, `--outdir=${plain}`, ...entries);
  await deno(...args, "--minify", `--outdir=${outdir}`, ...entries);
  const [written, kept] = [await countUsing(plain), await countUsing(outdir)];
  await Deno.remove(plain, { recursive: true });
  if (kept !== written) {
    throw new Error(
      `the minifier dropped ${written - kept} of ${written} using declarations: what they hold ` +
        "would never be closed; write try/finally there",
    );
  }
}

/**
 * Counts the `using` declarations in a folder of JavaScript. The minifier inlines one that is read
 * only by the next statement, and nothing is disposed of then.
 */
async function countUsing(dir: string): Promise<number> {
  let count = 0;
  for await (const { path } of walk(dir, { includeDirs: false, exts: [".js"] })) {
    const text = await Deno.readTextFile(path);
    count += text.match(/(?<![\w$."'`])using\s+[\w$]+\s*=/g)?.length ?? 0;
  }
  return count;
}

await emptyDir(bundle);
await bundled(
  bundle,
  ["main.ts", "src/agent/unit/main.ts", "src/tasks/executors/research/extract_worker.ts"],
  ["./sdk/*"],
);
// The providers' packages apart: in one bundle their use of zod would keep all of it, 300 KB of
// locales above all, in the chunk that the daemon loads at its start.
await bundled(
  join(bundle, "sdk"),
  ["anthropic", "google", "openai", "openai_compatible"]
    .map((name) => `src/agent/models/sdk/${name}.ts`),
);
// MCP's package likewise; its server and its client share what they have in common.
await bundled(
  join(bundle, "sdk"),
  ["mcp_client", "mcp_server"].map((name) => `src/mcp/sdk/${name}.ts`),
);
await buildWeb();
await copyWeb(join(bundle, "web"));
const mark = await revision();
for await (const { path } of walk(bundle, { includeDirs: false, exts: [".js"] })) {
  const text = await Deno.readTextFile(path);
  const done = text.replaceAll(REVISION_MARK, mark)
    .replaceAll(/"(\.\/sdk\/[a-z_]+)\.ts"/g, '"$1.js"');
  if (done !== text) await Deno.writeTextFile(path, done);
}
await deno(
  "compile",
  "--quiet",
  "--permission-set",
  // Deno keeps that cache in the shared temporary directory under a name anyone can guess, and
  // loads it whoever wrote it: another user of the machine could run code as us.
  "--no-code-cache",
  // gc() for src/platform/memory.ts. And a worker that ends gives its memory to the system: V8 would
  // keep it, some 10 MB each, in a pool that nothing ever empties in a process at rest.
  "--v8-flags=--expose-gc,--no-memory-pool-share-memory-on-teardown",
  `--output=${output}`,
  `--include=${bundle}`,
  ...(target ? [`--target=${target}`] : []),
  join(bundle, "main.js"),
);
