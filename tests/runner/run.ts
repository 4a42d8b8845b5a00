/** One run of the test command. */
import { join } from "@std/path";
import { elapsedText } from "../../src/base/elapsed.ts";
import type { Case } from "../support/junit.ts";
import { RUN_ENV } from "../support/run_mark.ts";
import { type Binary, compiledBinary } from "./binary.ts";
import { type FileRun, hasFailed, isLimited, runFile, type Settings } from "./file_run.ts";
import { longestFirst, type TestFile } from "./files.ts";
import { byReason } from "./ignored.ts";
import { memoryDirectory } from "./memory.ts";
import type { Options } from "./options.ts";
import { judge } from "./outcome.ts";
import { TestOutput } from "./output.ts";
import { endProcesses } from "./processes.ts";
import { indented, type Progress, Screen, STDOUT } from "./screen.ts";
import { counted, cut, type Ended, summary, titleOf } from "./summary.ts";
import { keepTimes, readTimes } from "./times.ts";
import { onlyReads, runTogether, sharesProcess, TOGETHER } from "./together.ts";

/** How many lines are printed about a file when it has failed. */
const FAILURE_LINES = 120;
/** What a shell returns for a command that Ctrl-C has ended. */
const STOPPED = 130;

/** Runs files and reports on them. */
export class Run {
  readonly #options: Options;
  readonly #all: number;
  readonly #left_out: number;
  /** Whether people see what the tests print: those of one file. */
  readonly #shown: boolean;
  readonly #screen = new Screen(STDOUT, () => this.#progress());
  readonly #begin = performance.now();
  readonly #running = new Map<TestFile, TestOutput>();
  readonly #first: FileRun[] = [];
  /** The second runs of files that failed. */
  readonly #again = new Map<TestFile, FileRun>();
  /** What failed apart from tests. */
  readonly #failed: string[] = [];
  readonly #mark = [Deno.env.get(RUN_ENV), crypto.randomUUID()].filter(Boolean).join("/");
  /** The files that run from source in any case. */
  readonly #from_source: Set<string>;
  /** The files that have not run yet and may share a process with others. */
  readonly #shareable = new Set<TestFile>();
  /** The files that have run with read permission alone, which was not enough for all their tests. */
  readonly #need_more = new Set<TestFile>();
  readonly #stop = new AbortController();
  /** What has not begun. */
  #queue: TestFile[];
  /** How far files were when the run was stopped. */
  readonly #unfinished: FileRun[] = [];
  #settings!: Settings;
  /** The binary to test, once it is there. */
  #svc_bin = Deno.env.get("SVC_BIN") || undefined;
  #compiling?: Promise<void>;

  constructor(options: Options, files: readonly TestFile[], left_out: number) {
    this.#options = options;
    this.#left_out = left_out;
    this.#queue = [...files];
    this.#from_source = new Set(files.flatMap((it) => it.on_binary ? [] : it.path));
    this.#all = files.length;
    this.#shown = files.length === 1;
  }

  /** Runs everything. @returns the exit code. */
  async toEnd(): Promise<number> {
    const { flags, script_args, jobs, limit_ms } = this.#options;
    const dir = await Deno.makeTempDir({ prefix: "svc-test-run-" });
    await Deno.writeTextFile(join(dir, "lacking"), "");
    const env = Deno.env.toObject();
    delete env.SVC_BIN;
    // It comes before NO_COLOR, which says that what tests print is read here.
    delete env.FORCE_COLOR;
    const onOutput = this.#shown ? (bytes: Uint8Array) => STDOUT.write(bytes) : undefined;
    const mark = this.#mark;
    const scratch = isLimited(flags) ? undefined : await memoryDirectory();
    this.#settings = { dir, scratch, mark, limit_ms, flags, script_args, env, onOutput };
    this.#queue = longestFirst(this.#queue, await readTimes());
    await this.#findShareable();
    const unwatch = this.#watchSignals();
    if (!this.#shown) this.#screen.start();
    try {
      if (this.#svc_bin === undefined && this.#queue.some(({ on_binary }) => on_binary)) {
        this.#compiling = this.#compile();
      }
      await Promise.all(Array.from({ length: jobs }, () => this.#work()));
      await this.#compiling;
      await this.#runFailedAgain();
    } finally {
      this.#screen.stop();
      await this.#endProcesses();
      unwatch();
    }
    const code = await this.#report(await Deno.readTextFile(join(dir, "lacking")));
    await Deno.remove(dir, { recursive: true });
    if (scratch !== undefined) await Deno.remove(scratch);
    return code;
  }

  /** Stops at signals. @returns a function that no longer does. */
  #watchSignals(): () => void {
    const signals: Deno.Signal[] = Deno.build.os === "windows"
      ? ["SIGINT", "SIGBREAK"]
      : ["SIGINT", "SIGTERM", "SIGHUP"];
    const onSignal = () => {
      this.#stop.abort();
      void endProcesses(this.#mark);
    };
    for (const signal of signals) Deno.addSignalListener(signal, onSignal);
    return () => {
      for (const signal of signals) Deno.removeSignalListener(signal, onSignal);
    };
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Compiles the binary; what cannot be tested without it leaves the queue. */
  async #compile(): Promise<void> {
    const begin = performance.now();
    let binary: Binary;
    try {
      binary = await compiledBinary(this.#stop.signal);
    } catch (error) {
      if (this.#stopped) return;
      this.#failed.push((error as Error).message);
      this.#screen.failure("dist/svc", (error as Error).message);
      this.#queue = this.#queue.filter(({ on_binary }) => !on_binary);
      return;
    }
    if (this.#stopped) return;
    this.#svc_bin = binary.path;
    if (binary.path === undefined) {
      this.#screen.print(
        `${binary.output}\nNo binary could be compiled: everything runs from source.`,
      );
      this.#queue = this.#queue.filter((it) => !it.on_binary || !this.#from_source.has(it.path))
        .map(({ path }) => ({ path, on_binary: false }));
    } else if (binary.reused) {
      this.#screen.print("Tests dist/svc as it is: no source has changed since it was compiled.");
    } else this.#screen.print(`Compiled dist/svc in ${elapsedText(performance.now() - begin)}.`);
  }

  /** Returns what can run next: one file, or several in one process; undefined when none is left. */
  async #next(): Promise<TestFile[] | undefined> {
    while (!this.#stopped && this.#queue.length > 0) {
      const at = this.#queue.findIndex((it) => !it.on_binary || this.#svc_bin !== undefined);
      if (at >= 0) return this.#takeTogether(this.#queue.splice(at, 1)[0]);
      await this.#compiling;
    }
  }

  /** Finds the files that may share a process: of those that may only read, if they run whole. */
  async #findShareable(): Promise<void> {
    const { flags, script_args } = this.#settings;
    const all = onlyReads(flags);
    if (this.#shown || script_args.length > 0 || flags.length > 0 && !all) return;
    for (const file of this.#queue) {
      if ((all || file.reads_only) && await sharesProcess(file)) this.#shareable.add(file);
    }
  }

  /** Takes the files from the queue that share a process with one, if it may share its own. */
  #takeTogether(file: TestFile): TestFile[] {
    if (!this.#shareable.delete(file)) return [file];
    const more = this.#queue.filter((it) => this.#shareable.has(it)).slice(0, TOGETHER - 1);
    for (const it of more) this.#shareable.delete(it);
    this.#queue = this.#queue.filter((it) => !more.includes(it));
    return [file, ...more];
  }

  /** Runs files in one process; what is not settled by that comes back to the queue. */
  async #runTogether(files: readonly TestFile[]): Promise<void> {
    const output = new TestOutput();
    const all = { path: `${files[0].path} and ${files.length - 1} more`, on_binary: false };
    this.#running.set(all, output);
    const flags = ["--allow-read"];
    const settings = { ...this.#settings, scratch: undefined, flags };
    const runs = await runTogether(files, settings, output, (file, name) => {
      this.#screen.print(`FAILED ${titleOf({ file })} => ${name}`);
    });
    this.#running.delete(all);
    if (this.#stopped || runs === undefined) {
      this.#queue.unshift(...files);
      return;
    }
    for (const run of runs) {
      const ignored = run.cases.some(({ outcome }) => outcome === "ignored");
      if (!ignored || hasFailed(run) || isLimited(this.#settings.flags)) this.#end(run);
      else {
        this.#need_more.add(run.file);
        this.#queue.unshift(run.file);
      }
    }
  }

  /** Runs one file with the permissions that its tests need. */
  async #runAllowed(file: TestFile, onFailure: (name: string) => void): Promise<FileRun> {
    const run = async (settings: Settings) => {
      const output = new TestOutput();
      this.#running.set(file, output);
      return await runFile(file, settings, output, this.#svc_bin, onFailure);
    };
    const { flags } = this.#settings;
    if (file.reads_only && !isLimited(flags) && !this.#need_more.has(file)) {
      const reading = { ...this.#settings, scratch: undefined, flags: ["--allow-read", ...flags] };
      const ended = await run(reading);
      // What it imports may ignore tests for it.
      if (this.#stopped || hasFailed(ended)) return ended;
      if (ended.cases.every(({ outcome }) => outcome !== "ignored")) return ended;
    }
    return await run(this.#settings);
  }

  /** Runs one file. @returns undefined when the run was stopped before its end. */
  async #runOne(file: TestFile, onFailure: (name: string) => void): Promise<FileRun | undefined> {
    const run = await this.#runAllowed(file, onFailure);
    this.#running.delete(file);
    if (!this.#stopped) return run;
    this.#unfinished.push({ ...run, trouble: undefined });
  }

  /** Runs files until none is left. */
  async #work(): Promise<void> {
    for (let files = await this.#next(); files !== undefined; files = await this.#next()) {
      if (files.length > 1) {
        await this.#runTogether(files);
        continue;
      }
      const [file] = files;
      const title = titleOf({ file });
      const run = await this.#runOne(file, (name) => {
        if (!this.#shown) this.#screen.print(`FAILED ${title} => ${name}`);
      });
      if (run === undefined) return;
      this.#end(run);
    }
  }

  /** Takes the first run of a file, and shows what failed in it. */
  #end(run: FileRun): void {
    this.#first.push(run);
    if (!hasFailed(run) || this.#shown) return;
    const reason = run.trouble === undefined ? "" : `: ${run.trouble.reason}`;
    this.#screen.failure(titleOf(run) + reason, cut(run.errors, FAILURE_LINES));
  }

  /** Runs each file that failed once more, alone. */
  async #runFailedAgain(): Promise<void> {
    for (const { file } of this.#first.filter(hasFailed)) {
      if (this.#stopped) return;
      this.#screen.print(`Running again, alone: ${titleOf({ file })}`);
      const run = await this.#runOne(file, () => {});
      if (run === undefined) return;
      this.#again.set(file, run);
      this.#screen.print(hasFailed(run) ? "It failed again." : "It passed.");
    }
  }

  /** Ends what tests have left running. */
  async #endProcesses(): Promise<void> {
    const left = await endProcesses(this.#mark);
    if (left.length === 0 || this.#stopped) return;
    this.#screen.print(`Ended what tests had left running:\n${indented(left.join("\n"))}`);
  }

  #progress(): Progress {
    const running = [...this.#running];
    const ended = [
      ...this.#first.flatMap(({ cases }) => cases),
      ...running.flatMap(([, output]) => output.ended),
    ];
    const of = (outcome: Case["outcome"]) => ended.filter((it) => it.outcome === outcome).length;
    return {
      files: this.#all,
      files_done: this.#first.length,
      passed: of("ok"),
      failed: of("FAILED") + this.#first.filter(({ trouble }) => trouble !== undefined).length,
      elapsed_ms: performance.now() - this.#begin,
      running: running.map(([file]) => titleOf({ file })),
    };
  }

  /** Prints the summary. @returns the exit code. */
  async #report(lacking: string): Promise<number> {
    const { flags, script_args, slowest, strict } = this.#options;
    if (flags.length + script_args.length === 0) await keepTimes(this.#first);
    const runs = [...this.#first];
    for (const run of this.#unfinished) {
      // The second run of a file changes nothing when it was stopped.
      if (!this.#first.some(({ file }) => file === run.file)) runs.push(run);
    }
    const outcomes = runs.map((run) => judge(run, this.#again.get(run.file)));
    const ignored = runs.flatMap(({ file }, at) => {
      return Array<string>(outcomes[at].ignored).fill(file.path);
    });
    const ended: Ended = {
      runs,
      outcomes,
      failed: this.#failed,
      ignored: byReason(ignored, lacking),
      left_out: this.#left_out,
      stopped: [...this.#unfinished.map(({ file }) => file), ...this.#queue],
      slowest,
      strict,
      elapsed_ms: performance.now() - this.#begin,
      svc_bin: this.#svc_bin,
    };
    const counts = counted(ended);
    if (!this.#stopped && counts.passed + counts.failed + counts.ignored === 0) {
      this.#failed.push("no test fits");
      counts.failed = 1;
    }
    this.#screen.print(`\n${summary(ended, STDOUT.terminal)}`);
    if (this.#stopped) return STOPPED;
    return counts.failed > 0 ? 1 : 0;
  }
}
