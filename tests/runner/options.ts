/** The command line of the test command. */

export const HELP =
  `Runs tests: each row of the contract and one of each kind of attack and fault, or the files and
directories that you name.

  sh install/dev.sh test [--all] [--unit] [--slowest] [flags of deno test] [file or directory ...]

  --all       run everything, also the files that tests/long.txt lists
  --shard     run one part of several, such as 2/4
  --unit      run only the unit tests, in src and web
  --ignoring  leave out the unit tests' files that run with read permission alone in any case
  --slowest   list the 30 slowest tests and files at the end
  --filter    run only tests whose name contains a text, or matches /a pattern/
  --help      show this

A file that fails runs once more, alone, when the others have ended. What passes then is listed as
flaky and does not fail the run. Without files, what starts svc runs against a binary, which is
compiled first unless dist has one of the same sources; with files, svc runs from source. One file
alone is shown as deno test prints it. With flags that allow something (--allow-read), tests may do
that only. Unit tests may only read in any case where their file ignores none.

Environment:
  FLAKY=fail      a flaky test fails the run
  DENO_JOBS       number of files that run at once (default: number of cores + 4)
  TEST_MINUTES    minutes after which a file is ended and has failed (default: 15)
  SVC_BIN         the binary to test
  TMPDIR          where tests make temporary files (default: in memory, where root runs them)
  TEST_DISK       if set, temporary files are on the disk
  NO_COLOR        print no colours

Exit code: 0 if everything passed, 1 if something failed, 130 if the run was stopped.
`;

/** What one call of the test command asks for. */
export interface Options {
  help: boolean;
  slowest: boolean;
  /** Whether the long files run too, where none is named. */
  all: boolean;
  /** The part to run, from 1, of how many. */
  shard: readonly [part: number, parts: number];
  /** Whether files that run with read permission alone in any case are left out. */
  ignoring: boolean;
  /** The files and directories to test; empty for everything. */
  paths: string[];
  /** Flags for `deno test`. */
  flags: string[];
  /** Arguments for the tests, after `--`. */
  script_args: string[];
  /** Whether a flaky test fails the run. */
  strict: boolean;
  jobs: number;
  /** How long one file may take. */
  limit_ms: number;
}

/** The folders of the unit tests. */
export const UNITS = ["src", "web"];

/**
 * Reads the command line and the environment.
 *
 * @throws {Error} when a variable or a flag has no valid value.
 */
export function readOptions(
  args: readonly string[],
  env: (name: string) => string | undefined,
  cores: number,
): Options {
  const options: Options = {
    help: false,
    slowest: false,
    all: false,
    shard: [1, 1],
    ignoring: false,
    paths: [],
    flags: [],
    script_args: [],
    strict: isStrict(env("FLAKY")),
    jobs: jobsOf(env("DENO_JOBS"), cores),
    limit_ms: limitOf(env("TEST_MINUTES")),
  };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === "--") options.script_args = rest.splice(0);
    else if (arg === "--help" || arg === "-h") options.help = true;
    else if (arg === "--slowest") options.slowest = true;
    else if (arg === "--ignoring") options.ignoring = true;
    else if (arg === "--all") options.all = true;
    else if (arg.startsWith("--shard=")) options.shard = shardOf(arg.slice("--shard=".length));
    else if (arg === "--shard") options.shard = shardOf(rest.shift());
    else if (arg === "--unit") options.paths.push(...UNITS);
    else if (arg === "--filter") {
      const text = rest.shift();
      if (text === undefined) throw new Error("--filter needs a text");
      options.flags.push(`--filter=${text}`);
    } else if (arg.startsWith("-")) options.flags.push(arg);
    else options.paths.push(arg);
  }
  return options;
}

function shardOf(text = ""): [number, number] {
  const [, part, parts] = /^([1-9]\d*)\/([1-9]\d*)$/.exec(text)?.map(Number) ?? [];
  if (part <= parts) return [part, parts];
  throw new Error(`--shard is "${text}"; it is a part of several, such as 2/4`);
}

function isStrict(flaky: string | undefined): boolean {
  if (flaky && flaky !== "fail") {
    throw new Error(`FLAKY is "${flaky}"; set it to "fail" or unset it`);
  }
  return flaky === "fail";
}

function jobsOf(jobs: string | undefined, cores: number): number {
  // Most tests wait for processes most of the time.
  if (!jobs) return cores + 4;
  if (!/^[1-9]\d*$/.test(jobs)) {
    throw new Error(`DENO_JOBS is "${jobs}"; set it to a number above 0`);
  }
  return Number(jobs);
}

function limitOf(minutes: string | undefined): number {
  const number = Number(minutes || 15);
  if (number > 0) return 60_000 * number;
  throw new Error(`TEST_MINUTES is "${minutes}"; set it to a number above 0`);
}
