/** A fresh clone of a repository, in a directory of its own. */
import { isAbsolute } from "@std/path";
import { BoundedOutput } from "../../../agent/output.ts";
import { runProcess } from "../../../agent/process.ts";
import type { Egress } from "../../../platform/egress.ts";
import type { Env } from "../../../platform/paths.ts";

export interface CloneOptions {
  /** An http or https URL, or the absolute path of a directory. */
  repo: string;
  ref?: string;
  /** Where to; an empty directory. */
  into: string;
  egress: Egress;
  env: Env;
  signal: AbortSignal;
}

/** The signal that carries the task's deadline ends it, no time limit of its own. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/** Clones. @throws {Error} with what git said. */
export async function clone(options: CloneOptions): Promise<void> {
  const { repo, ref, into, egress, env, signal } = options;
  const said = new BoundedOutput();
  const take = (chunk: Uint8Array) => said.push(chunk);
  const { exit_code } = await runProcess({
    argv: {
      cmd: "git",
      args: [
        ...settings(repo, egress).flatMap((setting) => ["-c", setting]),
        ...["clone", "--quiet", "--depth=1", "--no-local", "--no-tags", "--template="],
        ...(ref === undefined ? [] : [`--branch=${ref}`]),
        ...["--", isAbsolute(repo) ? `file://${repo}` : repo, into],
      ],
      env: {
        PATH: env("PATH") ?? "/usr/bin:/bin",
        HOME: into,
        LC_ALL: "C",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_TERMINAL_PROMPT: "0",
      },
    },
    cwd: into,
    sandbox: "none",
    timeout_ms: NO_LIMIT_MS,
    signal,
    onStdout: take,
    onStderr: take,
  });
  if (exit_code === 0) return;
  const why = egress.problems.at(-1)?.message ?? said.text().trim();
  throw new Error(`${repo} cannot be cloned: ${why}`);
}

/** One transport, nothing that the operator's own git would run, no way but the task's. */
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
