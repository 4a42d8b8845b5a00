/**
 * `deno test` with all permissions, and after it what was not run: by the name of what is missing,
 * and the number of tests. Arguments are what to test, and flags of `deno test`. Without files, it
 * compiles the binary and tests everything. SVC_BIN names a binary to test instead.
 */
import { walk } from "@std/fs";
import { dirname, fromFileUrl, join, relative } from "@std/path";
import { TextLineStream } from "@std/streams";
import { LACKING_FILE_ENV } from "./support/lacking.ts";

const UNITS = ["src", "web"];
/** Tests that start svc. */
const PROCESSES = "tests";
const root = dirname(dirname(fromFileUrl(import.meta.url)));

/** The tests that a run ignored, by their files. */
export class Ignored {
  #counts = new Map<string, number>();
  /** Of which the tests follow, where a run has one file at a time. */
  #file = "";

  /** Takes a line of what `deno test` prints. */
  take(line: string): void {
    // deno-lint-ignore no-control-regex -- colours
    const text = line.replace(/\x1b\[[0-9;]*m/g, "");
    this.#file = text.match(/^running \d+ tests? from (\S+)$/)?.[1] ?? this.#file;
    const [, file = this.#file] = text.match(/^(?:(\.\/\S+) => )?.* \.\.\. ignored \(/) ?? [, ""];
    if (file !== "") this.#counts.set(file, (this.#counts.get(file) ?? 0) + 1);
  }

  /**
   * What is missing, and for how many tests.
   *
   * @param lacking what test files noted that they lack.
   */
  byReason(lacking: string): string[] {
    const reasons = new Map<string, Set<string>>();
    for (const line of lacking.split("\n").filter(Boolean)) {
      const [url, what] = line.split("\t");
      const file = `./${relative(root, fromFileUrl(url)).replaceAll("\\", "/")}`;
      reasons.set(file, (reasons.get(file) ?? new Set()).add(what));
    }
    const counts = new Map<string, number>();
    for (const [file, count] of this.#counts) {
      const missing = [...reasons.get(file) ?? []].sort().join(" or ");
      const reason = missing || "for another system, user or build";
      counts.set(reason, (counts.get(reason) ?? 0) + count);
    }
    return [...counts].sort().map(([reason, count]) => `${reason}: ${count}`);
  }
}

/** What one `deno test` runs. */
interface Part {
  args: readonly string[];
  /** The binary that it tests; svc from source without one. */
  svc_bin?: string;
}

/**
 * Compiles the binary.
 *
 * @returns its path; undefined where Deno cannot, which it has said by then: it may be unable to
 * download its runtime.
 * @throws {Error} when it cannot though DENORT_BIN names a runtime.
 */
async function compiled(): Promise<string | undefined> {
  const path = join(root, "dist", Deno.build.os === "windows" ? "svc.exe" : "svc");
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "compile", "--output", path],
    cwd: root,
    stdout: "null",
  }).spawn().status;
  if (!success && Deno.env.get("DENORT_BIN")) throw new Error("the binary cannot be compiled");
  return success ? path : undefined;
}

/**
 * Everything: the unit tests, then what starts svc, against the binary that people use. What can only
 * be tested from source runs with the unit tests.
 */
async function everything(flags: readonly string[]): Promise<Part[]> {
  const svc_bin = Deno.env.get("SVC_BIN") || await compiled();
  if (svc_bin === undefined) {
    console.error("No binary could be compiled: everything runs from source.");
    return [{ args: [...UNITS, PROCESSES, ...flags] }];
  }
  const from_source: string[] = [];
  for await (const { path } of walk(join(root, PROCESSES), { match: [/_test\.ts$/] })) {
    if (/\btests_source\b/.test(await Deno.readTextFile(path))) from_source.push(path);
  }
  return [
    { args: [...UNITS, ...from_source.sort(), ...flags] },
    { args: [PROCESSES, ...flags], svc_bin },
  ];
}

/** Runs a part and shows what it prints. @returns its exit code. */
async function run({ args, svc_bin }: Part, ignored: Ignored, lacking: string): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    // `deno task check` looks at the types.
    args: ["test", "--quiet", "--no-check", "--allow-all", "--parallel", ...args],
    env: {
      [LACKING_FILE_ENV]: lacking,
      ...(svc_bin === undefined ? {} : { SVC_BIN: svc_bin }),
      ...(Deno.stdout.isTerminal() ? { FORCE_COLOR: "1" } : {}),
    },
    stdout: "piped",
  }).spawn();
  const [shown, read] = child.stdout.tee();
  const showing = shown.pipeTo(Deno.stdout.writable, { preventClose: true });
  for await (
    const line of read.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
  ) ignored.take(line);
  await showing;
  return (await child.status).code;
}

async function main(): Promise<number> {
  const { args } = Deno;
  const parts = args.some((arg) => !arg.startsWith("-")) ? [{ args }] : await everything(args);
  const lacking = await Deno.makeTempFile({ prefix: "svc-test-lacking-" });
  const ignored = new Ignored();
  const codes: number[] = [];
  for (const part of parts) codes.push(await run(part, ignored, lacking));
  const lines = ignored.byReason(await Deno.readTextFile(lacking));
  if (lines.length > 0) console.log(`Not run:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  await Deno.remove(lacking);
  return Math.max(...codes);
}

if (import.meta.main) Deno.exit(await main());
