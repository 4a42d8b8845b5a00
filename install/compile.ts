/**
 * Builds the one binary: bundles main.ts and the unit's entry, then compiles the result. Bundled, it
 * starts faster and stays smaller in memory than compiled from the modules themselves.
 *
 *   deno task compile [--output <path>] [--target <triple>]
 *
 * DENORT_BIN, when set, names the runtime to compile into; otherwise Deno downloads its own.
 * SVC_RELEASE_PUBLIC_KEY and SVC_RELEASE_MANIFEST_URL, when set, say whom the binary takes its
 * updates from: keys as `deno task release --new-key` prints them, by commas, and an address.
 *
 * The same commit, built by the same Deno in the same directory, gives the same bytes: what is in the
 * binary is dated with the commit. The bundler takes the directory's path into the names of chunks.
 */
import { dirname, fromFileUrl, join } from "@std/path";
import { parseArgs } from "@std/cli/parse-args";
import { emptyDir, walk } from "@std/fs";
import { requireNoProcessCwd } from "./cwd_gate.ts";
import { buildWeb, copyWeb } from "./web.ts";

const root = dirname(dirname(fromFileUrl(import.meta.url)));
const bundle = join(root, "dist", "bundle");

const PROGRAM = [
  "main.ts",
  "src/jail/unit/main.ts",
  "src/features/tasks/executors/research/extract_worker.ts",
];

/** Each in a bundle of its own. */
const SDKS = [
  // The providers' packages apart: in one bundle their use of zod would keep all of it, 300 KB of
  // locales above all, in the chunk that the daemon loads at its start.
  ["anthropic", "google", "openai", "openai_compatible"]
    .map((name) => `src/sdk/${name}.ts`),
  // MCP's package likewise; its server and its client share what they have in common.
  ["mcp_client", "mcp_server"].map((name) => `src/sdk/${name}.ts`),
];

/** Every module that the binary is bundled from, with what it loads. */
export const ENTRIES = [...PROGRAM, ...SDKS.flat(), "web/src/main.tsx", "web/src/boot.ts"];

async function deno(args: string[], env: Record<string, string> = {}): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), { args, env, cwd: root });
  const { success } = await command.spawn().status;
  if (!success) throw new Error(`deno ${args.join(" ")} failed`);
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

/** The commit that is built, with `-dirty` where files differ from it. */
export async function sourceRevision(): Promise<string> {
  return await git("describe", "--always", "--dirty", "--abbrev=10") ?? "unversioned";
}

/** When that commit was made; what a build makes is dated with it. */
export async function sourceDate(): Promise<Date> {
  const seconds = await git("log", "-1", "--format=%ct");
  // Without a commit, the first time that a zip archive can name.
  return seconds === undefined ? new Date("1980-01-01") : new Date(1000 * Number(seconds));
}

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
  await deno([...args, `--outdir=${plain}`, ...entries]);
  await deno([...args, "--minify", `--outdir=${outdir}`, ...entries]);
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

/** What a build is told beside its source; empty for what it is not told. */
export interface Marks {
  revision: string;
  /** Whom it takes updates from, see src/features/update/built_in.ts. */
  public_keys: string;
  manifest_url: string;
}

/**
 * Bundles the program and the web app into dist/bundle.
 *
 * @throws {Error} when a source uses the process working directory.
 */
export async function bundleProgram({ revision, public_keys, manifest_url }: Marks): Promise<void> {
  await requireNoProcessCwd();
  await emptyDir(bundle);
  await bundled(bundle, PROGRAM, ["../sdk/*", "../../sdk/*"]);
  for (const entries of SDKS) await bundled(join(bundle, "sdk"), entries);
  await buildWeb();
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
 * CommonJS packages ask for Node's own modules by `require`, which no module of a bundle has. What is
 * none of Node's must throw: packages that can do without a module find out so.
 */
function withRequire(text: string): string {
  if (!text.includes("Dynamic require of")) return text;
  const missing = "throw new Error(`there is no module ${name}`)";
  return `const require=(name)=>{const found=process.getBuiltinModule(name);` +
    `if(found===undefined)${missing};return found};${text}`;
}

/** What is compiled from the bundle. */
export interface CompileOptions {
  output: string;
  /** The system that it is for, as Deno names it; this one by default. */
  target?: string;
  /** The runtime to compile into; by default DENORT_BIN, or what Deno downloads. */
  denort?: string;
}

/** Compiles dist/bundle to a binary. */
export async function compileProgram({ output, target, denort }: CompileOptions): Promise<void> {
  await deno(
    [
      "compile",
      "--quiet",
      `--permission-set=${(target ?? Deno.build.os).includes("windows") ? "windows" : "default"}`,
      // Deno keeps that cache in the shared temporary directory under a name anyone can guess, and
      // loads it whoever wrote it: another user of the machine could run code as us.
      "--no-code-cache",
      // gc() for src/os/memory.ts. And a worker that ends gives its memory to the system: V8
      // would keep it, some 10 MB each, in a pool that nothing ever empties in a process at rest.
      // 2 MB at first for young objects, where V8 has 1: the start itself would be collected twice, and
      // part of its garbage kept as old objects. With 4 MB idle sessions take more memory.
      "--v8-flags=--expose-gc,--no-memory-pool-share-memory-on-teardown,--min-semi-space-size=2",
      `--output=${output}`,
      `--include=${bundle}`,
      ...(target ? [`--target=${target}`] : []),
      join(bundle, "main.js"),
    ],
    denort === undefined ? {} : { DENORT_BIN: denort },
  );
}

/**
 * Waits until no other build uses dist/bundle.
 *
 * @returns what lets the next one begin.
 */
export async function soleBuild(): Promise<Disposable> {
  await Deno.mkdir(join(root, "dist"), { recursive: true });
  const file = await Deno.open(join(root, "dist", "build.lock"), { create: true, write: true });
  await file.lock(true);
  return file;
}

/** What the environment tells a build. */
export async function marksOf(env: (name: string) => string | undefined): Promise<Marks> {
  return {
    revision: await sourceRevision(),
    public_keys: env("SVC_RELEASE_PUBLIC_KEY") ?? "",
    manifest_url: env("SVC_RELEASE_MANIFEST_URL") ?? "",
  };
}

if (import.meta.main) {
  const { output = join(root, "dist", "svc"), target } = parseArgs(Deno.args, {
    string: ["output", "target"],
  });
  using _lock = await soleBuild();
  await bundleProgram(await marksOf((name) => Deno.env.get(name)));
  await compileProgram({ output, target });
}
