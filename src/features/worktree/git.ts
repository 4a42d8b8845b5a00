/**
 * Runs git in an untrusted repository. Programs in the repository's configuration (hooks, filters,
 * drivers, monitors) do not run, and git runs in the sandbox of the model's commands, because one
 * of those may change the configuration at any time.
 */
import { dirname, join, resolve } from "@std/path";
import { type ProcessEnd, runProcess } from "../../jail/process.ts";
import {
  programArgv,
  type Sandbox,
  type SandboxArgv,
  type SandboxScope,
} from "../../jail/sandbox.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { readDirIfAny } from "../../os/files.ts";
import {
  conditionalIncludes,
  type ConfigEntry,
  hardenedConfig,
  parseConfigFile,
  parseConfigList,
} from "./git_config.ts";

/** A checked repository. */
export interface Repo {
  /** The absolute real path of its top directory. */
  readonly root: string;
  /** `<root>/.git`, a directory. */
  readonly git_dir: string;
  readonly sandbox: Sandbox;
  /** For every git in it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Another checkout than the repository's own. */
export interface Checkout {
  /** The top of the working tree. */
  path: string;
  /** `<root>/.git/worktrees/<id>`. */
  git_dir: string;
}

export interface GitOptions {
  signal: AbortSignal;
  /** Default: the repository's own checkout. */
  at?: Checkout;
  timeout_ms?: number;
  /** Of standard output; more ends git. */
  max_bytes?: number;
  env?: Record<string, string>;
  /** Expected exit codes; others are errors. */
  answers?: readonly number[];
}

interface GitResult {
  code: number;
  stdout: string;
  stderr: string;
  truncated: boolean;
}

const TIMEOUT_MS = 60_000;
const STDOUT_BYTES = 8 * 1024 * 1024;
const STDERR_BYTES = 8 * 1024;

/** Used when the user has no git identity. */
const NOBODY = { name: "svc", email: "svc@localhost" };

/**
 * Opens a repository, and finds the programs that its configuration would run. Git must trust its
 * owner.
 * @param root absolute path of its top directory
 * @throws {SvcError} validation when it is not the top of a main checkout
 */
export async function openRepo(root: string, sandbox: Sandbox, signal: AbortSignal): Promise<Repo> {
  const repo: Repo = { root, git_dir: join(root, ".git"), sandbox, env: {} };
  requireGitDir(repo);
  // Outside of the sandbox, with the person's configuration; these commands run no programs.
  const [config] = await Promise.all([
    trusted(repo, ["config", "--list", "--show-scope", "-z"], signal),
    trusted(repo, ["rev-parse", "--is-inside-work-tree"], signal),
  ]);
  const entries = parseConfigList(config);
  const last = (key: string) => entries.findLast((entry) => entry.key === key)?.value;
  const name = last("user.name") ?? NOBODY.name;
  const email = last("user.email") ?? NOBODY.email;
  return {
    ...repo,
    env: {
      ...hardenedConfig([...entries, ...await included(repo, entries, signal)]),
      GIT_AUTHOR_NAME: name,
      GIT_AUTHOR_EMAIL: email,
      GIT_COMMITTER_NAME: name,
      GIT_COMMITTER_EMAIL: email,
    },
  };
}

/** More than any real repository needs; a malicious one could include files forever. */
const INCLUDES_MAX = 50;

/** Returns conditionally included configuration, as if every condition held. */
async function included(
  repo: Repo,
  entries: readonly ConfigEntry[],
  signal: AbortSignal,
): Promise<ConfigEntry[]> {
  const found: ConfigEntry[] = [];
  const waiting = conditionalIncludes(entries).map((path) => resolve(repo.git_dir, path));
  const seen = new Set<string>();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    if (seen.add(path).size > INCLUDES_MAX) {
      throw new SvcError(
        "validation",
        `the git configuration of ${repo.root} includes too many files`,
      );
    }
    if (!isFile(path)) continue;
    const args = ["config", "--file", path, "--includes", "--list", "-z"];
    const more = parseConfigFile(await trusted(repo, args, signal));
    found.push(...more);
    waiting.push(...conditionalIncludes(more).map((next) => resolve(dirname(path!), next)));
  }
  return found;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

function requireGitDir({ root, git_dir }: Repo): void {
  let info: Deno.FileInfo | undefined;
  try {
    info = Deno.lstatSync(git_dir);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  if (info?.isDirectory) return;
  if (info === undefined) {
    throw new SvcError("validation", `${root} is not the top directory of a git repository`, {
      hint: "pass the directory that contains .git, or create a repository with git init",
    });
  }
  throw new SvcError("validation", `${root} is not a repository's main checkout`, {
    hint: "it is a worktree or a submodule; pass the repository that it belongs to",
  });
}

/**
 * Runs git. If the sandbox fails to start, retries once with a fresh view of the file system: a
 * socket that a mount covers may have been removed.
 * @throws {SvcError} timeout; `internal` with git's message for an unexpected exit code
 * @throws the signal's reason
 */
export async function git(
  repo: Repo,
  args: readonly string[],
  options: GitOptions,
): Promise<GitResult> {
  const { at = { path: repo.root, git_dir: repo.git_dir } } = options;
  const program = repo.sandbox.kind === "none" ? ownGit(repo).cmd : "git";
  const words = [program, "-C", at.path, `--git-dir=${at.git_dir}`, `--work-tree=${at.path}`];
  const once = async () => {
    const lasts_s = READING.has(args[0]) ? undefined : (options.timeout_ms ?? TIMEOUT_MS) / 1000;
    const scope = { ...scopeOf(repo), lasting: lasts_s !== undefined };
    if (READING.has(args[0])) scope.read_only = true;
    else if (LOOKING.has(args[0])) scope.git_tree = at.path;
    const argv = programArgv(repo.sandbox, [...words, ...args], scope);
    const env = { ...argv.env, ...ENVIRONMENT, ...repo.env, ...options.env };
    return await run({ ...argv, env }, repo, args[0], { ...options, lasts_s });
  };
  try {
    return await once();
  } catch (error) {
    if (!(error instanceof SandboxFailure)) throw error;
    return await once();
  }
}

/** The sandbox failed before the program started. */
class SandboxFailure extends SvcError {}

/** Returns git's output without the last newline. */
export async function gitLine(
  repo: Repo,
  args: readonly string[],
  options: GitOptions,
): Promise<string> {
  return (await git(repo, args, options)).stdout.trimEnd();
}

async function trusted(repo: Repo, args: string[], signal: AbortSignal): Promise<string> {
  const { cmd, path } = ownGit(repo);
  const argv = programArgv(repo.sandbox, ["git"], scopeOf(repo));
  // Only its variables are used.
  argv.failed?.();
  const env = { ...argv.env, ...ENVIRONMENT, PATH: path };
  const spawn = { cmd, args: ["-C", repo.root, ...args], env };
  const outside = { root: repo.root, sandbox: { kind: "none" } } as const;
  return (await run(spawn, outside, args[0], { signal })).stdout;
}

/** The git to run outside of the sandbox. */
function ownGit({ root, sandbox }: Repo): { cmd: string; path: string } {
  const found = sandbox.outside("git", root);
  if (found !== undefined) return found;
  throw new SvcError("unavailable", `git ${sandbox.absence("git", root)}`, {
    hint:
      "svc runs a git that neither other users nor sessions can write to, such as /usr/bin/git; " +
      "end sessions that work in / or /usr",
  });
}

/**
 * Commands that search a working tree for changes. In a nested repository, git starts another git,
 * which runs the filters configured there.
 */
const LOOKING = new Set(["add", "commit", "diff", "status"]);

/**
 * Commands without effects, which end with the daemon. A killed writer would leave locks and half a
 * checkout, so others may run until their time limit.
 */
const READING = new Set(["diff", "merge-base", "rev-parse", "status", "symbolic-ref"]);

/** The repository without the journals in it and in its worktrees. */
function scopeOf({ root }: Repo): SandboxScope {
  const own = join(root, ".svc");
  const hidden = [
    join(own, "sessions"),
    ...readDirIfAny(join(own, "worktrees")).map(({ name }) => join(own, "worktrees", name, ".svc")),
  ];
  return { workdir: root, hidden, network: false, git: true };
}

const ENVIRONMENT = {
  LANG: "C",
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  // So that a status does not take the index lock from the person's git.
  GIT_OPTIONAL_LOCKS: "0",
  // A partial clone could fetch objects over a transport from its configuration.
  GIT_ALLOW_PROTOCOL: "none",
  GIT_EDITOR: "false",
  // A git that outlives its reader would die when it writes progress.
  GIT_PROGRESS_DELAY: "86400",
};

async function run(
  argv: SandboxArgv,
  { root: cwd, sandbox: { kind: sandbox } }: { root: string; sandbox: Pick<Sandbox, "kind"> },
  command: string,
  options: GitOptions & { lasts_s?: number },
): Promise<GitResult> {
  const { signal, lasts_s, timeout_ms = TIMEOUT_MS, max_bytes = STDOUT_BYTES, answers = [0] } =
    options;
  const stdout = new Beginning(max_bytes);
  const stderr = new Beginning(STDERR_BYTES);
  const enough = new AbortController();
  let end: ProcessEnd | undefined;
  try {
    end = await runProcess({
      argv,
      cwd,
      sandbox,
      lasts_s,
      timeout_ms,
      signal: AbortSignal.any([signal, enough.signal]),
      onStdout(chunk) {
        stdout.push(chunk);
        if (stdout.truncated) enough.abort();
      },
      onStderr: (chunk) => stderr.push(chunk),
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!enough.signal.aborted) throw failed(command, messageOf(error));
  }
  if (end?.timed_out) {
    throw new SvcError("timeout", `git ${command} took longer than ${timeout_ms / 1000} s`);
  }
  const said = (await stderr.text()).trim();
  const code = end?.exit_code ?? (enough.signal.aborted ? 0 : -1);
  // bwrap fails with exit code 1, which may also be git's answer.
  if (sandbox === "bubblewrap" && code === 1 && said.startsWith("bwrap: ")) {
    throw new SandboxFailure("internal", `git ${command} could not be run in the sandbox: ${said}`);
  }
  if (!answers.includes(code)) throw failed(command, said || `exit code ${code}`);
  return { code, stdout: await stdout.text(), stderr: said, truncated: stdout.truncated };
}

/** Keeps the first bytes of a stream. */
class Beginning {
  truncated = false;
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #room: number;

  constructor(max_bytes: number) {
    this.#room = max_bytes;
  }

  /** The chunk may be reused afterwards. */
  push(chunk: Uint8Array): void {
    const part = new Uint8Array(chunk.subarray(0, this.#room));
    if (part.length > 0) this.#chunks.push(part);
    this.#room -= part.length;
    this.truncated ||= part.length < chunk.length;
  }

  text(): Promise<string> {
    return new Blob(this.#chunks).text();
  }
}

function failed(command: string, said: string): SvcError {
  const hint = /not found|No such file or directory \(os error 2\)/.test(said)
    ? "install git 2.38 or later"
    : undefined;
  return new SvcError("internal", `git ${command} failed: ${said}`, { hint });
}
