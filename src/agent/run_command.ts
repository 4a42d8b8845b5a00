/** Runs the command of a `run_command` call, and notes what it could not do and see. */
import { isAbsolute, join, normalize } from "@std/path";
import { stripWorkdir } from "../jail/rooted_path.ts";
import { networkHint } from "../jail/network_hint.ts";
import { isSystem } from "../jail/sandbox_mounts.ts";
import { isWithin } from "../os/paths.ts";
import { accessWords, type CommandAccess } from "../protocol/command_access.ts";
import { runCommand } from "../jail/command.ts";
import { gitHint, grantHints } from "../jail/grant_hints.ts";
import { type Grant, grantedWords, GRANTS } from "../jail/grants.ts";
import { refusedByLimits } from "../jail/command_limits.ts";
import { ledLater, refusedLater } from "../jail/later_locks.ts";
import { type Later, laterFile } from "../jail/runs_later.ts";
import type { AddedRoot } from "../jail/added_directories.ts";
import type { Sandbox, SandboxScope } from "../jail/sandbox.ts";
import { decideHost, refusalNotes } from "./way_out.ts";
import type { Command, ToolOutcome, ToolParts, ToolScope } from "./tool.ts";

export const COMMAND_TIMEOUT_S = 120;

const NONE: ReadonlySet<string> = new Set();

/** Returns what runs one of these files later. The unit itself reports an invalid path. */
export function riskOf(
  paths: readonly string[],
  workdir: string,
  home: string | undefined,
): Later | undefined {
  const risks = paths.flatMap((path) => {
    const absolute = isAbsolute(path) ? normalize(path) : join(workdir, path);
    if (stripWorkdir(absolute, workdir) === undefined) return [];
    return laterFile(absolute, home) ?? ledLater(absolute, workdir, { home, hidden: NONE }) ?? [];
  });
  // A risk that asks in all modes comes first.
  return risks.find(({ only }) => only !== "asked") ?? risks[0];
}

/** A verb and the command line; what it may do more stands before a line that may be long. */
export function named(verb: string, { command, granted, ...access }: Command): string {
  const words = [accessWords(access), grantedWords(granted)].filter((it) => it !== undefined);
  return words.length === 0 ? `${verb} ${command}` : `${verb} ${words.join(", ")}: ${command}`;
}

/** What a command must ask for under these limits. */
export function stillNeeded(
  { network, outside_sandbox, paths = [] }: CommandAccess,
  confined: boolean,
  has_network: boolean,
): CommandAccess {
  if (!confined) return {};
  if (outside_sandbox === true) return { outside_sandbox };
  return {
    ...(network === true && !has_network ? { network } : {}),
    ...(paths.length > 0 ? { paths } : {}),
  };
}

/** Returns what is granted now of what was when the call was shown. */
export function stillGranted(
  grants: readonly Grant[] | undefined,
  shown: readonly Grant[],
): readonly Grant[] | undefined {
  return grants?.filter((grant) => shown.includes(grant));
}

export async function execute(
  parts: ToolParts,
  args: Command,
  { session_id, workdir, hidden, added, signal, onOutput, mayConnect }: ToolScope,
): Promise<ToolOutcome> {
  const { command, timeout_s = COMMAND_TIMEOUT_S, network = false, outside_sandbox = false } = args;
  const places = [...added, ...parts.opened(args.paths ?? [])];
  const space = await parts.space(session_id);
  const { env, grants } = await parts.granted(session_id);
  const whole = network || await parts.network(session_id);
  await using way_out = whole || outside_sandbox
    ? undefined
    : await parts.wayOut(session_id, decideHost(mayConnect));
  const scope = {
    session_id,
    workdir,
    hidden,
    added: places,
    env,
    grants: stillGranted(grants, args.granted ?? []),
    space,
    checkout: space?.checkout,
    network: whole,
    proxy: way_out?.proxy,
    shares_network: true,
  };
  const sandbox = await (outside_sandbox ? parts.unconfined() : parts.sandbox());
  const result = await runCommand({
    command,
    scope,
    sandbox,
    timeout_ms: timeout_s * 1000,
    waited_ms: () => way_out?.waited_ms ?? 0,
    signal,
    onOutput,
  });
  const notes: string[] = [];
  if (result.timed_out) notes.push(`[stopped at the time limit of ${timeout_s} s]`);
  else if (result.signal !== null) notes.push(`[ended by ${result.signal}]`);
  else if (result.exit_code !== 0) notes.push(`[exit code ${result.exit_code}]`);
  const ok = notes.length === 0;
  notes.push(
    ...unseenPrograms(result, sandbox, scope),
    ...(ok ? [] : refusedByLimits(result.output, sandbox.limits?.())),
    ...(ok ? [] : couldGrant(result.output, sandbox, scope)),
    ...(ok ? [] : couldReach(result.output, sandbox, scope)),
    ...(ok ? [] : unseenPlaces(result.output, sandbox, scope, parts.home)),
    ...onlyReadGit(result, sandbox, scope),
    ...unnamedCheckout(result, sandbox, scope),
    ...(ok
      ? []
      : [{ path: workdir, hidden }, ...places].flatMap((it) =>
        refusedLater(result.output, it.path, { home: parts.home, hidden: new Set(it.hidden) })
      )),
    ...(ok ? [] : refusedAdded(result.output, places)),
    ...refusalNotes(way_out),
  );
  const output = [result.output.trimEnd(), ...notes].filter((it) => it !== "").join("\n");
  return {
    ok,
    output,
    truncated: result.truncated,
    looks: result.looks,
    ...(result.exit_code === null ? {} : { exit_code: result.exit_code }),
  };
}

/** Returns notes on places that a command could not write. */
function refusedAdded(output: string, added: readonly AddedRoot[]): string[] {
  if (!/read-only file system/i.test(output)) return [];
  return added.filter(({ path, access }) => access === "read" && output.includes(path))
    .map(({ path }) => `[${path} is read-only here]`);
}

/**
 * Returns a note on a file that a failed command did not find where commands see none of the
 * person's files. Whether it exists is not looked at: a model learns nothing from it.
 */
export function unseenPlaces(
  output: string,
  sandbox: Sandbox,
  scope: SandboxScope,
  home: string | undefined,
): string[] {
  const { grants, workdir, added = [] } = scope;
  if (sandbox.kind === "none" || grants === undefined) return [];
  const seen = [workdir, ...added.map(({ path }) => path)];
  const isOwn = (path: string) =>
    (home === undefined || !isWithin(path, home)) &&
    SESSION_PLACES.some((place) => isWithin(path, place));
  const missing = output.matchAll(/(\/[^\s:'"`‘’]+)['"`’]?: No such file or directory/g);
  const unseen = [...missing].map(([, path]) => normalize(path))
    .find((path) =>
      !isSystem(path) && !isOwn(path) && !seen.some((place) => isWithin(path, place))
    );
  return unseen === undefined
    ? []
    : [`[commands do not see ${unseen}, whether or not it exists; ask for it with paths]`];
}

/** What a session has for itself, where its own files may be missing. */
const SESSION_PLACES = ["/tmp", "/var/tmp", "/run"];

/** A shell's exit code for a missing program. */
const NOT_FOUND = 127;

/** Returns notes on programs that a command did not find although the machine has them. */
export function unseenPrograms(
  { exit_code, output }: { exit_code: number | null; output: string },
  sandbox: Sandbox,
  scope: SandboxScope,
): string[] {
  if (exit_code !== NOT_FOUND) return [];
  const named = output.matchAll(/(?:^|[\s'"])([\w.+-]+)['"]?: (?:command )?not found/gm);
  return [...new Set([...named].map(([, name]) => name))].flatMap((name) => {
    const path = sandbox.unseen(name, scope);
    return path === undefined ? [] : [`[${path} exists, but commands cannot see its directory]`];
  });
}

/** Returns notes on what a failed command lacks and the person could grant. */
export function couldGrant(output: string, sandbox: Sandbox, scope: SandboxScope): string[] {
  const { grants } = scope;
  if (sandbox.kind === "none" || grants === undefined) return [];
  return [...grantHints(output, grants, sandbox.granted(GRANTS, scope).there), ...gitHint(output)];
}

/** Returns a note on the network that a failed command lacks and the person could allow. */
export function couldReach(output: string, sandbox: Sandbox, scope: SandboxScope): string[] {
  const none = !scope.network && scope.proxy === undefined;
  if (!none || sandbox.kind === "none" || scope.grants === undefined) return [];
  return networkHint(output);
}

/** Returns a note for a git directory that commands do not see, because it may be anybody's. */
function unnamedCheckout(
  { exit_code, output }: { exit_code: number | null; output: string },
  sandbox: Sandbox,
  scope: SandboxScope,
): string[] {
  const [, directory] = /^fatal: not a git repository: (\/.+)$/m.exec(output) ?? [];
  if (exit_code === 0 || directory === undefined || sandbox.kind === "none") return [];
  if (sandbox.around(scope) !== undefined) return [];
  return [
    `[commands do not see ${directory}, because it does not name this checkout; in the checkout ` +
    'the person can run: git config core.worktree "$PWD"]',
  ];
}

/** Returns a note for git that could not write a repository which commands can only read. */
function onlyReadGit(
  { exit_code, output }: { exit_code: number | null; output: string },
  sandbox: Sandbox,
  scope: SandboxScope,
): string[] {
  if (exit_code === 0 || !/read-only file system|permission denied/i.test(output)) return [];
  const { directory, only_reads } = sandbox.around(scope) ?? {};
  if (only_reads === undefined || !output.includes(directory!)) return [];
  return [
    `[this command can only read ${directory}: ${only_reads}; the person can allow it with ` +
    "outside_sandbox, or start a session in the repository itself]",
  ];
}
