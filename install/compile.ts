/**
 * Builds the one binary: bundles main.ts and the unit's entry, then compiles the result. A bundle
 * starts faster and takes less memory than the separate modules.
 *
 *   deno task compile [--output <path>] [--target <triple>] [--web-if-stale]
 *
 * With --web-if-stale it takes the web app as it is when no source of it has changed.
 * DENORT_BIN, if set, names the runtime to compile into; otherwise Deno downloads its own.
 * SVC_RELEASE_PUBLIC_KEY and SVC_RELEASE_MANIFEST_URL, if set, are the public keys (as `deno task
 * release --new-key` prints them, separated by commas) and the address for updates of the binary.
 *
 * The same commit, built by the same Deno in the same directory, gives the same bytes: files in the
 * binary are dated with the commit. The bundler uses the directory's path in the names of chunks.
 */
import { common, dirname, fromFileUrl, join } from "@std/path";
import { parseArgs } from "@std/cli/parse-args";
import { emptyDir, walk } from "@std/fs";
import { requireNoProcessCwd } from "./cwd_gate.ts";
import { BuildError, compileProblem, requireRuntime, requireSvc, type Wanted } from "./denort.ts";
import { buildWeb, copyWeb } from "./web.ts";

const root = dirname(dirname(fromFileUrl(import.meta.url)));
const bundle = join(root, "dist", "bundle");

/** What runs: the command line and the workers that it starts. */
export const PROGRAM = [
  "main.ts",
  "src/jail/unit/main.ts",
  "src/features/tasks/executors/research/extract_worker.ts",
  "src/features/search/index_worker.ts",
];

/** Each in its own bundle. */
const SDKS = [
  // The providers' packages are bundled separately. In one bundle, their use of zod would keep all
  // of it, including 300 KB of locales, in the chunk that the daemon loads at its start.
  ["anthropic", "google", "openai", "openai_compatible"]
    .map((name) => `src/sdk/${name}.ts`),
  // MCP's package likewise; its server and its client share their common parts.
  ["mcp_client", "mcp_server"].map((name) => `src/sdk/${name}.ts`),
  // Only loaded for clients without sessions, which know another revision.
  ["src/sdk/mcp_stateless.ts"],
];

/** Every entry of the binary's bundles. */
export const ENTRIES = [...PROGRAM, ...SDKS.flat(), "web/src/main.tsx", "web/src/boot.ts"];

async function deno(args: string[]): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), { args, cwd: root });
  const { success } = await command.spawn().status;
  if (!success) throw new BuildError(`deno ${args[0]} failed`);
}

async function git(...args: string[]): Promise<string | undefined> {
  const command = new Deno.Command("git", { args, cwd: root, stderr: "null" });
  try {
    const { success, stdout } = await command.output();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Returns the commit that is built, with `-dirty` if files differ from it. */
export async function sourceRevision(): Promise<string> {
  return await git("describe", "--always", "--dirty", "--abbrev=10") ?? "unversioned";
}

/** Returns the time of that commit, with which all output is dated. */
export async function sourceDate(): Promise<Date> {
  const seconds = await git("log", "-1", "--format=%ct");
  // Without a commit, the earliest time that a zip archive can store.
  return seconds === undefined ? new Date("1980-01-01") : new Date(1000 * Number(seconds));
}

/** Bundles entries with everything they load, minified; other chunks stay lazy. */
async function bundled(outdir: string, entries: string[], external: string[] = []): Promise<void> {
  const args = [
    "bundle",
    "--quiet",
    "--platform=deno",
    "--code-splitting",
    ...external.map((path) => `--external=${path}`),
  ];
  // Always the same directory: the names of the chunks depend on it.
  const plain = join(root, "dist", "plain");
  await emptyDir(plain);
  await deno([...args, `--outdir=${plain}`, ...entries]);
  await withoutUnusedZod(plain);
  const [first] = entries;
  const base = entries.length > 1 ? common(entries) : first.slice(0, first.lastIndexOf("/") + 1);
  const bundles = entries.map((path) => join(plain, path.slice(base.length).replace(/ts$/, "js")));
  await deno([...args, "--minify", `--outdir=${outdir}`, ...bundles]);
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
 * Drops from bundles the table that makes the bundler keep all of zod: its reader of JSON schemas
 * would look up functions in it, and svc itself has no use for that. All of zod takes twice as long
 * to load, at each start.
 */
async function withoutUnusedZod(dir: string): Promise<void> {
  for await (const { path } of walk(dir, { includeDirs: false, exts: [".js"] })) {
    const text = await Deno.readTextFile(path);
    if (!text.includes("/from-json-schema.js\n")) continue;
    const [table, name, ...namespaces] =
      text.match(/^var (\w+) = \{\n\s+\.\.\.(\w+),\n\s+\.\.\.(\w+),\n\s+iso: \w+\n\};\n/m) ?? [];
    if (table === undefined) throw new Error(`${path}: zod's table of its functions has changed`);
    // A provider's package reads JSON schemas.
    if (text.includes(`${name}.object(`)) continue;
    const exports = namespaces.map((it) => `^__export\\(${it}, \\{\\n(?:  .*\\n)*\\}\\);\\n`);
    const unused = new RegExp(exports.join("|"), "gm");
    await Deno.writeTextFile(path, text.replace(table, "").replace(unused, ""));
  }
}

/**
 * Counts the `using` declarations in a folder of JavaScript. The minifier inlines a declaration
 * that is read only by the next statement, and then nothing is disposed of.
 */
async function countUsing(dir: string): Promise<number> {
  let count = 0;
  for await (const { path } of walk(dir, { includeDirs: false, exts: [".js"] })) {
    const text = await Deno.readTextFile(path);
    count += text.match(/(?<![\w$."'`])using\s+[\w$]+\s*=/g)?.length ?? 0;
  }
  return count;
}

/** Values built into the program beside its source; empty if not given. */
export interface Marks {
  revision: string;
  /** The keys and address for updates, see src/features/update/built_in.ts. */
  public_keys: string;
  manifest_url: string;
}

/**
 * Bundles the program and the web app into dist/bundle.
 *
 * @param web_if_stale takes the web app as it is when no source of it has changed
 * @throws {Error} when a source uses the process working directory.
 */
export async function bundleProgram(
  { revision, public_keys, manifest_url }: Marks,
  web_if_stale = false,
): Promise<void> {
  await requireNoProcessCwd();
  await emptyDir(bundle);
  await bundled(bundle, PROGRAM, ["../sdk/*", "../../sdk/*"]);
  for (const entries of SDKS) await bundled(join(bundle, "sdk"), entries);
  await buildWeb({ if_stale: web_if_stale });
  await copyWeb(join(bundle, "web"));
  const date = await sourceDate();
  for await (const { path, isFile } of walk(bundle)) {
    if (isFile && path.endsWith(".js")) {
      const text = await Deno.readTextFile(path);
      const done = withRequire(text).replaceAll("@revision@", revision)
        .replaceAll("@update-public-keys@", public_keys)
        .replaceAll("@update-manifest-url@", manifest_url)
        .replaceAll(/"(?:\.\.?\/)+(sdk\/[a-z_]+)\.ts"/g, '"./$1.js"');
      if (done !== text) await Deno.writeTextFile(path, done);
    }
    await Deno.utime(path, date, date);
  }
}

/**
 * CommonJS packages load Node's own modules with `require`, which modules in a bundle do not have.
 * For any other module it must throw, because packages detect optional modules that way.
 */
function withRequire(text: string): string {
  if (!text.includes("Dynamic require of")) return text;
  const missing = "throw new Error(`there is no module ${name}`)";
  return `const require=(name)=>{const found=process.getBuiltinModule(name);` +
    `if(found===undefined)${missing};return found};${text}`;
}

/** The options of a compilation. */
export interface CompileOptions {
  output: string;
  /** The target system by Deno's name; default: this one. */
  target?: string;
  /** The runtime to compile into; default: DENORT_BIN, or the one that Deno downloads. */
  denort?: string;
}

/**
 * Compiles dist/bundle to a binary.
 *
 * @throws {BuildError} when it cannot.
 */
export async function compileProgram({ output, target, denort }: CompileOptions): Promise<void> {
  const wanted = runtimeFor(target);
  if (denort !== undefined) await requireRuntime(denort, wanted);
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      `--permission-set=${(target ?? Deno.build.os).includes("windows") ? "windows" : "default"}`,
      // Deno would keep that cache in the shared temporary directory under a predictable name and
      // load it regardless of its owner, so another user of the machine could run code as us.
      "--no-code-cache",
      // gc() is for src/os/memory.ts. A worker that ends returns its memory to the system; V8 would
      // keep about 10 MB of each in a pool that a resting process never empties. Young objects
      // start with 2 MB instead of 1: otherwise the start triggers two collections and keeps part
      // of its garbage as old objects. With 4 MB, idle sessions take more memory.
      "--v8-flags=--expose-gc,--no-memory-pool-share-memory-on-teardown,--min-semi-space-size=2",
      `--output=${output}`,
      `--include=${bundle}`,
      ...(target ? [`--target=${target}`] : []),
      join(bundle, "main.js"),
    ],
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0", ...(denort && { DENORT_BIN: denort }) },
    cwd: root,
  });
  const { success, stderr } = await command.output();
  if (!success) throw new BuildError(compileProblem(new TextDecoder().decode(stderr), wanted));
  if (denort !== undefined && wanted.target === Deno.build.target) {
    await requireSvc(output, denort, wanted);
  }
}

/** The runtime that a binary for a system needs. @param target default: this system. */
function runtimeFor(target: string = Deno.build.target): Wanted {
  return { version: Deno.version.deno, target };
}

/**
 * Waits until no other build uses dist/bundle.
 *
 * @returns a lock; disposing of it lets the next build start
 */
export async function soleBuild(): Promise<Disposable> {
  await Deno.mkdir(join(root, "dist"), { recursive: true });
  const file = await Deno.open(join(root, "dist", "build.lock"), { create: true, write: true });
  await file.lock(true);
  return file;
}

/** Returns the values to build in, from the environment. */
export async function marksOf(env: (name: string) => string | undefined): Promise<Marks> {
  return {
    revision: await sourceRevision(),
    public_keys: env("SVC_RELEASE_PUBLIC_KEY") ?? "",
    manifest_url: env("SVC_RELEASE_MANIFEST_URL") ?? "",
  };
}

if (import.meta.main) {
  const { output = join(root, "dist", "svc"), target, "web-if-stale": web_if_stale } = parseArgs(
    Deno.args,
    { string: ["output", "target"], boolean: ["web-if-stale"] },
  );
  const denort = Deno.env.get("DENORT_BIN") || undefined;
  try {
    // Before the bundle, which takes longer than all else.
    if (denort !== undefined) await requireRuntime(denort, runtimeFor(target));
    using _lock = await soleBuild();
    await bundleProgram(await marksOf((name) => Deno.env.get(name)), web_if_stale);
    await compileProgram({ output, target, denort });
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(`compile: ${error.message}`);
    Deno.exit(1);
  }
}
