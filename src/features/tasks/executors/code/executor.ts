/** Lets an agent session work in a directory or a new clone until its criteria are met. */
import { abortable } from "@std/async";
import { canaryLine } from "../../../../agent/critic.ts";
import type { Sandbox } from "../../../../jail/sandbox.ts";
import { type CheckRunner, runCheck } from "../../../missions/checks.ts";
import type { CriterionSpec } from "../../../missions/spec.ts";
import type { Egress } from "../../../../net/egress.ts";
import { parkedText } from "../../../../protocol/note_text.ts";
import { messageOf, SvcError } from "../../../../protocol/errors.ts";
import { removeTree } from "../../../../os/remove_tree.ts";
import { identityOf } from "../../../../os/identity.ts";
import type { Env } from "../../../../os/paths.ts";
import { Semaphore } from "../../../../base/semaphore.ts";
import type { TurnUsage } from "../../../../protocol/events.ts";
import type { Published } from "../../../../session/subscription.ts";
import type {
  AdoptOptions,
  TurnResult,
  WorkSession,
  WorkSessionOptions,
} from "../../../../session/work_session.ts";
import { Leaving } from "../../leaving.ts";
import type {
  Deliverable,
  Effort,
  Executor,
  TaskContext,
  TaskRequest,
  Verification,
} from "../../task.ts";
import { textDeliverable } from "../deliverable.ts";
import { Snapshot } from "./changes.ts";
import { clone } from "./clone.ts";
import { type CodeRequest, readCodeRequest } from "./request.ts";
import { readWork, type Work } from "./work.ts";

export interface CodeParts {
  env: Env;
  egress(hired: boolean): Promise<Egress>;
  sandbox(): Promise<Sandbox>;
  startSession(options: WorkSessionOptions): Promise<WorkSession>;
  /** Takes over a session that an earlier daemon left. */
  adoptSession(session_id: string, options: AdoptOptions): Promise<WorkSession | undefined>;
  openChecks(workdir: string): CheckRunner;
  /** @returns the real path. @throws {SvcError} when a task may not work there. */
  workdir(path: string, hired: boolean): Promise<string>;
  /** Returns the paths that tools in a directory must not see. */
  hidden(workdir: string): readonly string[];
  /** Creates an empty directory for one task, with a directory for its journal. */
  makePlace(task_id: string): Promise<{ workdir: string; journal_root: string }>;
  /** Returns the path of that directory. */
  placeOf(task_id: string): string;
  /** @throws {SvcError} validation */
  model(id: string | undefined): { id: string; builtin: boolean };
  /** For one task. */
  budget_usd(): number;
}

/** By effort: the most rounds of repair, and how often in a row the criteria must hold. */
const EFFORT: Record<Effort, { repairs: number; proofs: number }> = {
  minimal: { repairs: 0, proofs: 1 },
  standard: { repairs: 1, proofs: 1 },
  thorough: { repairs: 2, proofs: 2 },
  critical: { repairs: 3, proofs: 3 },
};
const AT_ONCE = 8;
const EVIDENCE_MAX = 1_000;
const OUTPUT_MAX = 8_000;

export function codeExecutor(parts: CodeParts): Executor {
  const slots = new Semaphore(AT_ONCE);
  return {
    task_type: "code",
    async check(request, hired) {
      const { place, model } = readCodeRequest(request);
      parts.model(model);
      const local = "workdir" in place ? place.workdir : localPath(place.repo);
      if (local !== undefined) await parts.workdir(local, hired);
      if (hired && (await parts.sandbox()).kind !== "bubblewrap") {
        throw new SvcError("permission_denied", "hired code tasks need the sandbox of bubblewrap", {
          hint: "install bubblewrap; `svc doctor` checks that it works",
        });
      }
    },
    async run(request, context) {
      const release = await slots.take(AbortSignal.any([context.signal, context.leaving]));
      try {
        return await carryOut(request, parts, context);
      } finally {
        release();
      }
    },
    async drop(task_id, left, completed) {
      const work = readWork(left);
      const title = `task ${task_id}`;
      const session = work && await parts.adoptSession(work.session_id, { title });
      await session?.stop(completed ? "completed" : "killed");
      await removeTree(parts.placeOf(task_id));
    },
  };
}

async function carryOut(
  request: TaskRequest,
  parts: CodeParts,
  context: TaskContext,
): Promise<Deliverable> {
  const wanted = readCodeRequest(request);
  const { place } = wanted;
  if ("workdir" in place) {
    const workdir = await parts.workdir(place.workdir, context.hired);
    const job = await goOn(workdir, parts, context) ??
      await start({ workdir }, wanted, parts, context);
    return await work(job, request, wanted, parts, context);
  }
  const workdir = parts.placeOf(context.task_id);
  try {
    const job = await goOn(workdir, parts, context) ??
      await start(await makeClone(place, parts, context), wanted, parts, context);
    return await work(job, request, wanted, parts, context);
  } finally {
    if (context.keepWork === undefined) {
      await removeTree(workdir).catch((error) =>
        context.note(`cannot remove ${workdir}: ${messageOf(error)}`)
      );
    }
  }
}

async function makeClone(
  place: { repo: string; ref?: string },
  parts: CodeParts,
  { task_id, hired, signal: stopped, leaving, note }: TaskContext,
): Promise<Place> {
  const signal = AbortSignal.any([stopped, leaving]);
  const made = await parts.makePlace(task_id);
  await using egress = await parts.egress(hired);
  const source = await sourceOf(place.repo, parts, hired);
  note(`cloning ${place.repo}`);
  const sandbox = await parts.sandbox();
  const into = made.workdir;
  try {
    await clone({ ...place, ...source, into, egress, env: parts.env, sandbox, signal });
  } finally {
    leaving.throwIfAborted();
  }
  return made;
}

/** Checks the directory again: it may have been replaced since the task was accepted. */
async function sourceOf(
  repo: string,
  parts: CodeParts,
  hired: boolean,
): Promise<{ repo: string; hidden: readonly string[]; identity?: string }> {
  const local = localPath(repo);
  if (local === undefined) return { repo, hidden: [] };
  const real = await parts.workdir(local, hired);
  return { repo: real, hidden: parts.hidden(real), identity: identityOf(real) };
}

function localPath(repo: string): string | undefined {
  return repo.startsWith("http") ? undefined : repo;
}

/** A session at work on a task. */
interface Job {
  session: WorkSession;
  /** The files before the work, in a repository. */
  before: Snapshot | undefined;
  /** The turn that an earlier daemon left. */
  turn?: Promise<TurnResult>;
  /** In the first prompt. */
  canary: string;
}

interface Place {
  workdir: string;
  journal_root?: string;
}

async function start(
  place: Place,
  wanted: CodeRequest,
  parts: CodeParts,
  context: TaskContext,
): Promise<Job> {
  const { hired, signal, leaving, canary } = context;
  leaving.throwIfAborted();
  const model = parts.model(wanted.model);
  const before = await Snapshot.take(place.workdir, await parts.sandbox(), signal);
  const session = await parts.startSession({
    ...place,
    ...sessionOptions(context),
    model: model.id,
    approval: hired ? "auto" : wanted.approval,
    trust: hired ? "untrusted" : "trusted",
    budget_usd: Math.min(wanted.budget_usd ?? Infinity, parts.budget_usd()),
  });
  context.note(`session ${session.id}`);
  return { session, before, canary };
}

/**
 * Takes over what an earlier daemon left of a task; undefined if it cannot go on.
 *
 * @throws the reason of a signal that fires meanwhile; what was left stays for the next daemon if this
 * one stops
 */
async function goOn(
  workdir: string,
  parts: CodeParts,
  context: TaskContext,
): Promise<Job | undefined> {
  const left = readWork(context.left);
  if (left === undefined) return undefined;
  const { session_id, canary, tree } = left;
  const { note } = context;
  const signal = AbortSignal.any([context.signal, context.leaving]);
  const session = await parts.adoptSession(session_id, sessionOptions(context));
  if (session === undefined) {
    signal.throwIfAborted();
    note(`session ${session_id} cannot go on: it has ended`);
    return undefined;
  }
  let why: string;
  try {
    const before = tree === undefined
      ? undefined
      : await Snapshot.open(tree, workdir, await parts.sandbox(), signal);
    const lost = session.workdir !== workdir || (tree !== undefined && before === undefined);
    const going_on = lost ? undefined : await session.goOn();
    signal.throwIfAborted();
    if (going_on !== undefined) {
      note(`session ${session_id} goes on`);
      return { session, before, canary, turn: going_on.turn };
    }
    why = lost ? "the state of its files before the task is gone" : "it has no turn to go on with";
  } catch (error) {
    if (signal.reason instanceof Leaving) {
      await session.leave(signal.reason.grace_ms);
      throw signal.reason;
    }
    why = messageOf(error);
  }
  await session.stop("killed");
  signal.throwIfAborted();
  note(`session ${session_id} cannot go on: ${why}`);
  return undefined;
}

function sessionOptions({ task_id, deadline_at, note }: TaskContext) {
  return {
    title: `task ${task_id}`,
    deadline_at,
    onEvent: (event: Published) => event.type === "turn.parked" && note(parkedText(event)),
  };
}

async function work(
  { session, before, turn, canary }: Job,
  request: TaskRequest,
  wanted: CodeRequest,
  parts: CodeParts,
  context: TaskContext,
): Promise<Deliverable> {
  const { keepWork, note, leaving } = context;
  let kept = turn !== undefined;
  const signal = AbortSignal.any([context.signal, leaving]);
  const checks = parts.openChecks(session.workdir);
  let left: Leaving | undefined;
  let stopped: "killed" | "completed" = "killed";
  try {
    const effort = EFFORT[request.effort ?? "standard"];
    const answer = async (prompt: string) => (await session.begin(prompt)).turn;
    if (turn === undefined) {
      const so_far: Work = { session_id: session.id, canary, tree: before?.tree };
      await keepWork?.(JSON.stringify(so_far));
      kept = keepWork !== undefined;
      // A task that was given back meanwhile has not kept it: nothing may be done yet.
      signal.throwIfAborted();
      turn = answer(firstPrompt(wanted, parts.model(wanted.model).builtin ? undefined : canary));
    }
    let message = await endOf(session, turn, signal);
    let verification = await prove(wanted.criteria, checks, effort.proofs, signal);
    for (let round = (await session.turns()).length; round <= effort.repairs; round++) {
      const unmet = verification.filter(({ passed }) => !passed);
      if (unmet.length === 0) break;
      note(`repair ${round} of ${effort.repairs}: ${unmet.map((it) => it.criterion).join("; ")}`);
      message = await endOf(session, answer(repairPrompt(unmet)), signal);
      verification = await prove(wanted.criteria, checks, effort.proofs, signal);
    }
    const changes = await before?.changes(signal);
    if (changes !== undefined && changes.files > 0) {
      const content = changes.patch;
      await context.keep({ name: "changes.diff", media_type: "text/x-diff", content });
    }
    const turns = await session.turns();
    stopped = "completed";
    return textDeliverable(message, {
      verification: [finished(session.id, turns.length), ...verification],
      usage: { ...usageOf(turns), turns: turns.length, files_changed: changes?.files },
      canaries: [canary],
    });
  } catch (error) {
    if (signal.reason instanceof Leaving) left = signal.reason;
    throw left ?? error;
  } finally {
    checks.close();
    if (left !== undefined) await session.leave(left.grace_ms);
    // One that is kept ends when the outcome is recorded; none works on when it is decided.
    else if (!kept || (context.signal.aborted && !leaving.aborted)) await session.stop(stopped);
  }
}

/** @returns the turn's last message @throws {Error} when the turn does not end normally */
async function endOf(
  { id }: WorkSession,
  turn: Promise<TurnResult>,
  signal: AbortSignal,
): Promise<string> {
  const { stop_reason, message, error } = await abortable(turn, signal);
  if (stop_reason === "ok") return message.trim();
  const why = error === undefined ? "" : `: ${error}`;
  throw new Error(`the turn of session ${id} ended with "${stop_reason}"${why}`);
}

function usageOf(turns: readonly TurnResult[]): TurnUsage {
  const sum: TurnUsage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };
  for (const { usage } of turns) {
    for (const key of Object.keys(sum) as (keyof TurnUsage)[]) sum[key] += usage?.[key] ?? 0;
  }
  return sum;
}

function finished(session_id: string, turns: number): Verification {
  const evidence = `session ${session_id}, ${turns} ${turns === 1 ? "turn" : "turns"}`;
  return { criterion: "the agent finishes its work", passed: true, evidence };
}

/** Checks every criterion several times in a row; the first failure counts. */
async function prove(
  criteria: readonly CriterionSpec[],
  checks: CheckRunner,
  proofs: number,
  signal: AbortSignal,
): Promise<Verification[]> {
  let verification: Verification[] = [];
  for (let proof = 1; proof <= proofs; proof++) {
    verification = [];
    for (const criterion of criteria) {
      const { passed, output } = await runCheck(criterion, checks, signal);
      verification.push({
        criterion: `${criterion.id}: ${criterion.description}`,
        passed,
        evidence: output.slice(-EVIDENCE_MAX),
      });
    }
    if (verification.some(({ passed }) => !passed)) break;
  }
  return verification;
}

function firstPrompt({ prompt, criteria }: CodeRequest, canary: string | undefined): string {
  const lines = criteria.map((it) => {
    const { command, file_exists, content_match } = it;
    const check = command ?? file_exists ?? JSON.stringify(content_match);
    return `- ${it.description} (checked by: ${check})`;
  });
  return [
    prompt,
    ...(lines.length > 0 && canary !== undefined
      ? [`These criteria must be met:\n${lines.join("\n")}`]
      : []),
    ...(canary === undefined ? [] : [canaryLine(canary)]),
  ].join("\n\n");
}

function repairPrompt(unmet: readonly Verification[]): string {
  const lines = unmet.map(({ criterion, evidence }) =>
    `- ${criterion}\n${evidence.slice(-OUTPUT_MAX)}`
  );
  return `These criteria are not met yet; fix that:\n${lines.join("\n")}`;
}
