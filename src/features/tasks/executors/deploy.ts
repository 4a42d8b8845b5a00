/** Deploys a target in policy.yaml with its command, and checks its health and its commit. */
import { delay } from "@std/async";
import { BoundedOutput } from "../../../jail/output.ts";
import { type ProcessEnd, runProcess } from "../../../jail/process.ts";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import { formatDuration } from "../../../base/duration.ts";
import { explainFetch, readBody } from "../../../net/http_get.ts";
import { nearestOf } from "../../../base/nearest.ts";
import { type FoundProgram, unfound } from "../../../os/own_programs.ts";
import type { Env } from "../../../os/paths.ts";
import { Semaphore } from "../../../base/semaphore.ts";
import { commit_name, type DeployTarget } from "../../tool_servers/deploy_target.ts";
import type { Deliverable, Effort, Executor, TaskContext, TaskRequest } from "../task.ts";
import { textDeliverable } from "./deliverable.ts";
import { type DeployLock, lockDeploy, placeOf } from "./deploy_lock.ts";

interface DeployParts {
  /** From policy.yaml. */
  targets(): readonly DeployTarget[];
  env: Env;
  find(program: string): FoundProgram | undefined;
  /** Directory of the locks that keep deploys of one target apart. */
  locks: string;
}

/** How many healthy responses in a row are needed, by effort. */
const HEALTHY_IN_A_ROW: Record<Effort, number> = {
  minimal: 1,
  standard: 2,
  thorough: 3,
  critical: 5,
};

const POLL_MS = 500;
const ANSWER_MS = 10_000;
const ANSWER_BYTES = 64 * 1024;
/** The signal carries the task's deadline. */
const NO_LIMIT_MS = 2 ** 31 - 1;
/** From the daemon's environment. */
const INHERITED = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "SSH_AUTH_SOCK"];
const LOG_NAME = "deploy.log";

interface Options {
  target: DeployTarget;
  commit?: string;
  dry_run: boolean;
}

export function deployExecutor(parts: DeployParts): Executor {
  // Two concurrent deployments of one target would check each other's result. The lock keeps those
  // of all processes apart; these keep the order in this one, also when the policy changes.
  const slots = new Map<string, Semaphore>();
  const slotsOf = (name: string) => {
    const known = slots.get(name) ?? new Semaphore(1);
    slots.set(name, known);
    return known;
  };
  return {
    task_type: "deploy",
    check: (request) => void optionsOf(request, parts),
    async exclusive(request) {
      const { dry_run, target } = optionsOf(request, parts);
      return dry_run ? undefined : await placeOf(target);
    },
    async run(request, context) {
      const options = optionsOf(request, parts);
      if (options.dry_run) return dryRun(options);
      const { name } = options.target;
      const { signal } = context;
      let told = false;
      const onWait = () => {
        if (!told) context.note(`waits for another deploy of target ${name}`);
        told = true;
      };
      const release = await slotsOf(name).take(signal, onWait);
      try {
        const lock = await lockDeploy(parts.locks, options.target, { signal, onWait });
        try {
          return await deploy(options, request.effort ?? "standard", parts, context, lock);
        } finally {
          lock.release();
        }
      } finally {
        release();
      }
    },
  };
}

/** @throws {SvcError} validation. */
function optionsOf({ extra = {} }: TaskRequest, { targets }: DeployParts): Options {
  const { target: name, expected_commit, dry_run = false } = extra;
  const names = targets().map((target) => target.name);
  const target = targets().find((it) => it.name === name);
  if (target === undefined) {
    const near = typeof name === "string" ? nearestOf(name, names) : undefined;
    throw new SvcError(
      "validation",
      `extra.target must be one of the operator's targets (${
        names.join(", ") || "none is configured"
      })` +
        `; got ${JSON.stringify(name) ?? "none"}`,
      {
        hint: near
          ? `did you mean "${near}"?`
          : "the operator lists them under deploy_targets in policy.yaml",
      },
    );
  }
  const commit = commit_name.optional().safeParse(expected_commit);
  if (!commit.success) {
    throw new SvcError(
      "validation",
      `extra.expected_commit ${commit.error.issues[0].message}; got ${
        JSON.stringify(expected_commit)
      }`,
    );
  }
  if (typeof dry_run !== "boolean") {
    throw new SvcError("validation", "extra.dry_run must be true or false");
  }
  return { target, commit: commit.data ?? target.expected_commit, dry_run };
}

function dryRun({ target, commit }: Options): Deliverable {
  const { name, command, args, cwd, health_url } = target;
  const lines = [
    `Nothing was run. Deploying ${name} would`,
    `- run ${JSON.stringify([command, ...args])} in ${cwd}`,
    `- wait until ${health_url} reports healthy`,
    ...(commit === undefined ? [] : [`- check that it runs commit ${commit}`]),
  ];
  return textDeliverable(lines.join("\n"), {
    verification: [{
      criterion: "the target is configured",
      passed: true,
      evidence: `${name} is in policy.yaml`,
    }],
  });
}

async function deploy(
  { target, commit }: Options,
  effort: Effort,
  { env, find }: DeployParts,
  context: TaskContext,
  lock: DeployLock,
): Promise<Deliverable> {
  const program = find(target.command);
  if (program === undefined) throw unfound(target.command);
  const { values, mask } = environment(target, env, commit);
  context.note(`running the command of ${target.name}`);
  const { end, output } = await runCommand(target, program, values, context.signal, lock);
  const log = mask(output);
  await context.keep({ name: LOG_NAME, media_type: "text/plain", content: log });
  const ran = {
    criterion: "the command succeeds",
    passed: end.exit_code === 0,
    evidence: end.exit_code === 0
      ? `exit code 0 after ${formatDuration(end.duration_ms)}`
      : `exit code ${end.exit_code ?? `none (${end.signal ?? "ended"})`}: ${lastLine(log)}`,
  };
  if (!ran.passed) {
    return textDeliverable(`${target.name} was not deployed`, { verification: [ran] });
  }
  context.note(`waiting until ${target.name} is healthy`);
  const seen = await watchHealth(target, commit, HEALTHY_IN_A_ROW[effort], context.signal);
  const verification = [ran, {
    criterion: `${target.health_url} is healthy`,
    passed: seen.healthy,
    evidence: seen.health,
  }];
  if (commit !== undefined) {
    verification.push({
      criterion: `commit ${commit} is running`,
      passed: seen.committed,
      evidence: seen.commit,
    });
  }
  const what = commit === undefined ? target.name : `${target.name} at commit ${commit}`;
  return textDeliverable(`${what} is deployed and healthy: ${seen.health}`, { verification });
}

/** Returns the command's variables, and a function that masks secrets in its output. */
function environment(target: DeployTarget, env: Env, commit: string | undefined) {
  const values: Record<string, string> = {};
  const secrets: string[] = [];
  for (const name of INHERITED) {
    const value = env(name);
    if (value !== undefined) values[name] = value;
  }
  for (const [name, text] of Object.entries(target.env)) {
    values[name] = text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, variable) => {
      const value = env(variable);
      if (value === undefined) {
        throw new SvcError(
          "validation",
          `deploy target ${target.name}: env.${name} names the variable ${variable}, which is not set`,
          { hint: "set it in the daemon's environment" },
        );
      }
      secrets.push(value);
      return value;
    });
  }
  if (commit !== undefined) values.DEPLOY_COMMIT = commit;
  const mask = (text: string) =>
    secrets.filter((secret) => secret.length >= 6)
      .reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
  return { values, mask };
}

async function runCommand(
  { args, cwd, env: own }: DeployTarget,
  { cmd, path }: FoundProgram,
  env: Record<string, string>,
  signal: AbortSignal,
  lock: DeployLock,
): Promise<{ end: ProcessEnd; output: string }> {
  const output = new BoundedOutput();
  const take = (chunk: Uint8Array) => output.push(chunk);
  const end = await runProcess({
    argv: { cmd, args, env: own.PATH === undefined ? { ...env, PATH: path } : env },
    cwd,
    sandbox: "none",
    timeout_ms: NO_LIMIT_MS,
    signal,
    onStdout: take,
    onStderr: take,
    may_leave: true,
    onStarted: (pid) => lock.started(pid),
  });
  return { end, output: output.text() };
}

interface Seen {
  healthy: boolean;
  health: string;
  committed: boolean;
  commit: string;
}

/** Polls until the service is healthy with that commit several times in a row, or time is up. */
async function watchHealth(
  target: DeployTarget,
  commit: string | undefined,
  in_a_row: number,
  signal: AbortSignal,
): Promise<Seen> {
  const until = performance.now() + target.health_timeout;
  for (let well = 0;;) {
    const seen = await look(target, commit, signal);
    well = seen.healthy && seen.committed ? well + 1 : 0;
    if (well >= in_a_row) {
      return { ...seen, health: `${seen.health}, ${in_a_row} times in a row` };
    }
    if (performance.now() >= until) {
      return { ...seen, health: `${seen.health} after ${formatDuration(target.health_timeout)}` };
    }
    await delay(POLL_MS, { signal });
  }
}

async function look(
  { health_url, commit_url = health_url }: DeployTarget,
  commit: string | undefined,
  signal: AbortSignal,
): Promise<Seen> {
  const { ok, said, text } = await ask(health_url, signal);
  if (commit === undefined) return { healthy: ok, health: said, committed: true, commit: "" };
  const told = commit_url === health_url ? text : (await ask(commit_url, signal)).text;
  const found = told.match(/\b[0-9a-f]{7,64}\b/g)?.find((it) =>
    it.startsWith(commit) || commit.startsWith(it)
  );
  const evidence = found === undefined
    ? `${commit_url} does not contain a commit`
    : `${commit_url} reports ${found}`;
  return { healthy: ok, health: said, committed: found !== undefined, commit: evidence };
}

async function ask(url: string, stop: AbortSignal) {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MS)]);
  try {
    const response = await fetch(url, { redirect: "manual", signal });
    const { bytes } = await readBody(response, ANSWER_BYTES, signal);
    const text = new TextDecoder().decode(bytes);
    return { ok: response.ok, said: `HTTP ${response.status}`, text };
  } catch (error) {
    stop.throwIfAborted();
    return { ok: false, said: explainFetch(error) || messageOf(error), text: "" };
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
