/** Runs one test file in a process of its own. */
import { delay } from "@std/async";
import { join } from "@std/path";
import { type Case, readReport } from "../support/junit.ts";
import { LACKING_FILE_ENV } from "../support/lacking.ts";
import { RUN_ENV } from "../support/run_mark.ts";
import { root, type TestFile } from "./files.ts";
import { inMemory } from "./memory.ts";
import type { TestOutput } from "./output.ts";
import { endProcesses } from "./processes.ts";

/** How one run of a file ended. */
export interface FileRun {
  file: TestFile;
  cases: Case[];
  /** What failed the file as a whole: it cannot be loaded, or its process died. */
  trouble?: { reason: string; error: string };
  seconds: number;
  /** The errors as people read them. */
  errors: string;
}

/** Reports whether anything failed in a run of a file. */
export function hasFailed({ cases, trouble }: FileRun): boolean {
  return trouble !== undefined || cases.some(({ outcome }) => outcome === "FAILED");
}

/** How all files of a run of the test command are run. */
export interface Settings {
  /** A directory for reports; it is removed with the run. */
  dir: string;
  /** Where each file gets temporary files in memory; undefined where they are on the disk. */
  scratch?: string;
  /** Marks the processes of this run; those of a file have more behind it. */
  mark: string;
  /** How long one file may take. */
  limit_ms: number;
  flags: readonly string[];
  script_args: readonly string[];
  /** The environment of the tests. */
  env: Readonly<Record<string, string>>;
  /** Called with what is printed, as it comes. */
  onOutput?: (bytes: Uint8Array) => void;
}

/** Reports whether flags of `deno test` say what tests may do; otherwise they may do everything. */
export function isLimited(flags: readonly string[]): boolean {
  return flags.some((flag) => /^(--allow-|--permission-set|-[APRWENS])/.test(flag));
}

/** Starts `deno test` for a file, in a process group of its own: Ctrl-C is for its parent. */
function spawned(
  { path }: TestFile,
  { report, mark, svc_bin }: { report: string; mark: string; svc_bin?: string },
  { flags, script_args, dir, scratch, env, onOutput }: Settings,
): Deno.ChildProcess {
  const line = [
    Deno.execPath(),
    "test",
    // Otherwise it also prints what the tests print.
    ...onOutput === undefined ? ["--quiet"] : [],
    // `deno task check` looks at the types.
    "--no-check",
    `--config=${join(root, "deno.json")}`,
    `--junit-path=${report}`,
    ...isLimited(flags) ? [] : ["--allow-all"],
    ...flags,
    path,
    ...script_args.length > 0 ? ["--", ...script_args] : [],
  ];
  const [program, ...args] = scratch === undefined ? line : inMemory(scratch, line);
  return new Deno.Command(program, {
    args,
    cwd: root,
    clearEnv: true,
    env: {
      ...env,
      ...scratch === undefined ? {} : { TMPDIR: scratch },
      ...svc_bin === undefined ? {} : { SVC_BIN: svc_bin },
      // The same everywhere, on a terminal too.
      NO_COLOR: "1",
      RUST_BACKTRACE: "0",
      [LACKING_FILE_ENV]: join(dir, "lacking"),
      [RUN_ENV]: mark,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: Deno.build.os !== "windows",
  }).spawn();
}

/**
 * Runs a file to its end.
 *
 * @param output takes what is printed, for those who watch it.
 * @param svc_bin the binary for a file that tests it.
 * @param onFailure called with the name of a test when it fails.
 */
export async function runFile(
  file: TestFile,
  settings: Settings,
  output: TestOutput,
  svc_bin: string | undefined,
  onFailure: (name: string) => void,
): Promise<FileRun> {
  const id = crypto.randomUUID();
  const report = join(settings.dir, `${id}.xml`);
  const mark = `${settings.mark}/${id}`;
  const begin = performance.now();
  const process = { report, mark, svc_bin: file.on_binary ? svc_bin : undefined };
  const child = spawned(file, process, settings);
  let is_late = false;
  const timer = setTimeout(() => {
    is_late = true;
    void endProcesses(mark, child.pid);
  }, settings.limit_ms);
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      settings.onOutput?.(bytes);
      for (const name of output.take(decoder.decode(bytes, { stream: true }))) onFailure(name);
    }
  };
  // A process that a test left behind may hold the pipes; what it prints is not waited for.
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  const status = await child.status;
  clearTimeout(timer);
  await Promise.race([reading, delay(2_000)]);
  const seconds = (performance.now() - begin) / 1000;
  const cases = (await casesOf(report))?.filter((it) => {
    // The report has tests that a filter leaves out as ignored ones.
    return it.outcome !== "ignored" || !output.filtered || output.hasIgnored(it.name);
  });
  const all = cases ?? output.ended.map((it) => ({ ...it, file: file.path, seconds: 0 }));
  const reason = is_late
    ? `it did not end within ${settings.limit_ms / 60_000} minutes${duringOf(output)}`
    : troubleOf(status, cases, output);
  const trouble = reason === undefined ? undefined : { reason, error: output.errors };
  return { file, cases: all, trouble, seconds, errors: output.errors };
}

/** Reads the report of a run; undefined where the process died before it wrote one. */
async function casesOf(report: string): Promise<Case[] | undefined> {
  try {
    const xml = await Deno.readTextFile(report);
    await Deno.remove(report);
    return readReport(xml);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Says what failed the file as a whole, if anything did. */
function troubleOf(
  { success, code, signal }: Deno.CommandStatus,
  cases: Case[] | undefined,
  output: TestOutput,
): string | undefined {
  const { total, ended, uncaught } = output;
  if (uncaught) {
    return total === undefined ? "it cannot be loaded" : "an error outside of its tests";
  }
  if (cases !== undefined) {
    if (success || cases.some(({ outcome }) => outcome === "FAILED")) return undefined;
    return `deno test ended with code ${code}`;
  }
  if (total === undefined) {
    return signal === null ? "it cannot be loaded" : `its process ended by ${signal} at once`;
  }
  const how = signal === null ? `with code ${code}` : `by ${signal}`;
  const left = total - ended.length;
  const where = duringOf(output);
  return `its process ended ${how}${where}; ${left} of ${total} tests did not run to their end`;
}

function duringOf({ current }: TestOutput): string {
  return current === undefined ? "" : ` during "${current}"`;
}
