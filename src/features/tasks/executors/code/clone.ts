/**
 * Clones a repository into its own directory.
 * A local repository is untrusted: its `.git` may be a link, and its objects may claim to be
 * elsewhere. So git reads it in a sandbox that shows only that directory.
 */
import { isAbsolute } from "@std/path";
import { BoundedOutput } from "../../../../jail/output.ts";
import { runProcess } from "../../../../jail/process.ts";
import type { Sandbox, SandboxArgv } from "../../../../jail/sandbox.ts";
import { EXCHANGED } from "../../../../jail/sandbox_alone.ts";
import type { Egress } from "../../../../net/egress.ts";
import type { Env } from "../../../../os/paths.ts";

interface CloneOptions {
  /** An http or https URL, or an absolute path. */
  repo: string;
  ref?: string;
  /** An empty directory. */
  into: string;
  egress: Egress;
  env: Env;
  sandbox: Sandbox;
  /** Absolute real paths below a local `repo` that the task must not see. */
  hidden: readonly string[];
  /** A local directory as it was checked; see {@linkcode SeenDirectory.identity}. */
  identity?: string;
  signal: AbortSignal;
}

/** The signal carries the task's deadline. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/** Clones the repository. @throws {Error} with git's message. */
export async function clone(options: CloneOptions): Promise<void> {
  const { repo, into, egress, signal } = options;
  const said = new BoundedOutput();
  const take = (chunk: Uint8Array) => said.push(chunk);
  const jailed = isAbsolute(repo) ? inSandbox(options) : undefined;
  const { exit_code } = await runProcess({
    argv: jailed ?? outOfSandbox(options),
    cwd: into,
    sandbox: jailed === undefined ? "none" : options.sandbox.kind,
    timeout_ms: NO_LIMIT_MS,
    signal,
    onStdout: take,
    onStderr: take,
    onStarted: (pid) => egress.admit(pid),
  });
  if (exit_code === 0) return;
  const why = jailed !== undefined && exit_code === EXCHANGED
    ? "the directory was replaced while the task was waiting"
    : egress.problems.at(-1)?.message ?? said.text().trim();
  throw new Error(`cannot clone ${repo}: ${why}`);
}

/** With a git that no session can have written. */
function outOfSandbox(options: CloneOptions): SandboxArgv {
  const found = options.sandbox.outside("git", options.into);
  if (found === undefined) {
    throw new Error(`git ${options.sandbox.absence("git", options.into)}`);
  }
  const env = { ...environment(options), PATH: found.path };
  return { cmd: found.cmd, args: words(options), env };
}

function inSandbox(options: CloneOptions): SandboxArgv | undefined {
  const { repo, into, sandbox, hidden, identity } = options;
  const directories = [{ path: repo, hidden, identity }, { path: into, writable: true }];
  return sandbox.alone(["git", ...words(options)], directories, environment(options));
}

function words({ repo, ref, into, egress }: CloneOptions): string[] {
  return [
    ...settings(repo, egress).flatMap((setting) => ["-c", setting]),
    ...["clone", "--quiet", "--depth=1", "--no-local", "--no-tags", "--template="],
    ...(ref === undefined ? [] : [`--branch=${ref}`]),
    ...["--", isAbsolute(repo) ? `file://${repo}` : repo, into],
  ];
}

function environment({ env, into }: CloneOptions): Record<string, string> {
  return {
    PATH: env("PATH") ?? "/usr/bin:/bin",
    HOME: into,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    // The sandbox has no list of users to look a name up in.
    GIT_COMMITTER_NAME: "svc",
    GIT_COMMITTER_EMAIL: "svc@localhost",
  };
}

/** Allows one transport, no programs from the git configuration, and no network but the egress. */
function settings(repo: string, egress: Egress): string[] {
  const transports = isAbsolute(repo) ? ["file"] : ["http", "https"];
  return [
    "protocol.allow=never",
    ...transports.map((name) => `protocol.${name}.allow=always`),
    `http.proxy=${egress.url}`,
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=true",
    "credential.helper=",
    "safe.directory=*",
  ];
}
