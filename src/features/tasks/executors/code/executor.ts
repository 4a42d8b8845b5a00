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
import type { WorkSession, WorkSessionOptions } from "../../../../session/work_session.ts";
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

export interface CodeParts {
  env: Env;
  egress(hired: boolean): Promise<Egress>;
  sandbox(): Promise<Sandbox>;
  startSession(options: WorkSessionOptions): Promise<WorkSession>;
  openChecks(workdir: string): CheckRunner;
  /** @returns the real path. @throws {SvcError} when a task may not work there. */
  workdir(path: string, hired: boolean): Promise<string>;
  /** Returns the paths that tools in a directory must not see. */
  hidden(workdir: string): readonly string[];
  /** Creates an empty directory for one task, with a directory for its journal. */
  makePlace(task_id: string): Promise<{ workdir: string; journal_root: string }>;
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
      if (hired && (await parts.sandbox()).kind === "none") {
        throw new SvcError("permission_denied", "hired code tasks need the sandbox", {
          hint: "install bubblewrap; `svc doctor` checks that it works",
        });
      }
    },
    async run(request, context) {
      const release = await slots.take(context.signal);
      try {
        return await carryOut(request, parts, context);
      } finally {
        release();
      }
    },
  };
}

async function carryOut(
  request: TaskRequest,
  parts: CodeParts,
  context: TaskContext,
): Promise<Deliverable> {
  const wanted = readCodeRequest(request);
  if ("workdir" in wanted.place) {
    const workdir = await parts.workdir(wanted.place.workdir, context.hired);
    return await work(request, wanted, { workdir }, parts, context);
  }
  const place = await parts.makePlace(context.task_id);
  try {
    await using egress = await parts.egress(context.hired);
    const source = await sourceOf(wanted.place.repo, parts, context.hired);
    context.note(`cloning ${wanted.place.repo}`);
    await clone({
      ...wanted.place,
      ...source,
      into: place.workdir,
      egress,
      env: parts.env,
      sandbox: await parts.sandbox(),
      signal: context.signal,
    });
    return await work(request, wanted, place, parts, context);
  } finally {
    await removeTree(place.workdir).catch((error) =>
      context.note(`cannot remove ${place.workdir}: ${messageOf(error)}`)
    );
  }
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

async function work(
  request: TaskRequest,
  wanted: CodeRequest,
  place: { workdir: string; journal_root?: string },
  parts: CodeParts,
  context: TaskContext,
): Promise<Deliverable> {
  const { signal, note } = context;
  const model = parts.model(wanted.model);
  const snapshot = await Snapshot.take(place.workdir, await parts.sandbox(), signal);
  const checks = parts.openChecks(place.workdir);
  const session = await parts.startSession({
    ...place,
    model: model.id,
    title: `task ${context.task_id}`,
    approval: context.hired ? "auto" : wanted.approval,
    trust: context.hired ? "untrusted" : "trusted",
    budget_usd: Math.min(wanted.budget_usd ?? Infinity, parts.budget_usd()),
    deadline_at: context.deadline_at,
    onEvent: (event) => event.type === "turn.parked" && note(parkedText(event)),
  });
  let stopped: "killed" | "completed" = "killed";
  try {
    note(`session ${session.id}`);
    const effort = EFFORT[request.effort ?? "standard"];
    const worker = new Worker(session, signal);
    await worker.turn(firstPrompt(wanted, model.builtin ? undefined : context.canary));
    let verification = await prove(wanted.criteria, checks, effort.proofs, signal);
    for (let round = 1; round <= effort.repairs; round++) {
      const unmet = verification.filter(({ passed }) => !passed);
      if (unmet.length === 0) break;
      note(`repair ${round} of ${effort.repairs}: ${unmet.map((it) => it.criterion).join("; ")}`);
      await worker.turn(repairPrompt(unmet));
      verification = await prove(wanted.criteria, checks, effort.proofs, signal);
    }
    const changes = await snapshot?.changes(signal);
    if (changes !== undefined && changes.files > 0) {
      const content = changes.patch;
      await context.keep({ name: "changes.diff", media_type: "text/x-diff", content });
    }
    stopped = "completed";
    return textDeliverable(worker.message, {
      verification: [worker.verification(session.id), ...verification],
      usage: { ...worker.usage, turns: worker.turns, files_changed: changes?.files },
    });
  } finally {
    checks.close();
    await session.stop(stopped);
  }
}

class Worker {
  readonly #session: WorkSession;
  readonly #signal: AbortSignal;
  readonly usage: TurnUsage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };
  turns = 0;
  message = "";

  constructor(session: WorkSession, signal: AbortSignal) {
    this.#session = session;
    this.#signal = signal;
  }

  /** @throws {Error} when the turn does not end normally */
  async turn(prompt: string): Promise<void> {
    const { turn } = await this.#session.begin(prompt);
    const { stop_reason, message, error, usage } = await abortable(turn, this.#signal);
    this.turns++;
    for (const key of Object.keys(this.usage) as (keyof TurnUsage)[]) {
      this.usage[key] += usage?.[key] ?? 0;
    }
    if (stop_reason !== "ok") {
      const why = error === undefined ? "" : `: ${error}`;
      throw new Error(`the turn of session ${this.#session.id} ended with "${stop_reason}"${why}`);
    }
    this.message = message.trim();
  }

  verification(session_id: string): Verification {
    const evidence = `session ${session_id}, ${this.turns} ${this.turns === 1 ? "turn" : "turns"}`;
    return { criterion: "the agent finishes its work", passed: true, evidence };
  }
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
