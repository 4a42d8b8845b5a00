/** A job of a mission: a place, the session that works there, the lane that shows it. */
import { titleOf } from "../../session/titles.ts";
import { parkedText } from "../../protocol/note_text.ts";
import type { Usage } from "../../models/model.ts";
import { abortable } from "@std/async";
import { SvcError } from "../../protocol/errors.ts";
import type { TurnResult, WorkSession, WorkSessionOptions } from "../../session/work_session.ts";
import type { Published } from "../../session/subscription.ts";
import type { Budget } from "./budget.ts";
import type { CheckRunner } from "./checks.ts";
import type { Mission } from "./mission.ts";
import { conflictPrompt } from "./prompts.ts";
import type { MissionLane, Report } from "./report.ts";
import type { MissionStore } from "./store.ts";
import type { Place, Workspace } from "./workspace.ts";

/** What the parts of a running mission share. */
export interface RunContext {
  readonly mission: Mission;
  readonly store: MissionStore;
  readonly report: Report;
  readonly workspace: Workspace;
  startSession(options: WorkSessionOptions): Promise<WorkSession>;
  adoptSession(
    session_id: string,
    options: Pick<WorkSessionOptions, "title" | "onEvent">,
  ): Promise<WorkSession | undefined>;
  /** How long a turn may take to a safe point when the daemon stops. */
  grace_ms(): number;
  openChecks(path: string, env: Record<string, string> | undefined): CheckRunner;
  /** Warms the common prefix of a model's calls, if there is one. */
  prewarm(model_id: string, signal: AbortSignal): Promise<Usage & { usd: number } | undefined>;
  readonly budget: Budget;
}

export interface JobOptions {
  /** Short; its session and worktree are named after it. */
  name: string;
  /** What it does, in the words of the spec. */
  goal: string;
  /** What its lines in the log are about. */
  about: { task_id?: string; ac_id?: string };
  lane: MissionLane;
  signal: AbortSignal;
}

export type StopReason = "cancelled" | "parked";

/** A mission was stopped from outside. */
export class Stopped extends Error {
  override name = "Stopped";
  readonly reason: StopReason;

  constructor(reason: StopReason, why: string) {
    super(why);
    this.reason = reason;
  }
}

/** A turn did not end well. */
export class TurnFailed extends Error {
  override name = "TurnFailed";
  /** Whether another attempt may succeed: the model failed, not the work. */
  readonly again: boolean;

  constructor(session_id: string, { stop_reason, error }: TurnResult) {
    const why = error === undefined ? "" : `: ${error}`;
    super(`the turn of session ${session_id} ended with "${stop_reason}"${why}`);
    this.again = AGAIN.has(stop_reason);
  }
}

/** Ends of a turn after which another attempt may succeed. */
const AGAIN: ReadonlySet<TurnResult["stop_reason"]> = new Set([
  "error",
  "length",
  "empty",
  "loop",
  "rate_limit",
]);
/** Turns that may be spent on the conflicts of one merge. */
const CONFLICT_TURNS = 3;

function sessionOptions(
  { mission, budget, report }: RunContext,
  { name, goal, lane, about }: JobOptions,
) {
  return {
    title: `mission ${mission.id} ${name}`,
    goal: titleOf(`${mission.spec.name} · ${goal}`),
    onEvent(event: Published) {
      lane.mirror(event);
      if (event.type === "cost.tick") budget.spend(event.data.usd_delta);
      if (event.type === "turn.parked") {
        report.note({ ...about, event: "parked", detail: parkedText(event) });
      }
    },
  };
}

export class Job implements AsyncDisposable {
  readonly #context: RunContext;
  readonly #options: JobOptions;
  readonly place: Place;
  #session: WorkSession | undefined;
  #checks: CheckRunner | undefined;

  private constructor(context: RunContext, options: JobOptions, place: Place) {
    this.#context = context;
    this.#options = options;
    this.place = place;
  }

  static async open(context: RunContext, options: JobOptions): Promise<Job> {
    return new Job(context, options, await context.workspace.open(options.name, options.signal));
  }

  /**
   * Takes over the session and the place of a job that an earlier daemon left.
   *
   * @returns the job and the end of its turn; undefined if it cannot go on, and nothing is left of it
   */
  static async adopt(
    context: RunContext,
    options: JobOptions,
    session_id: string,
  ): Promise<{ job: Job; turn: Promise<TurnResult> } | undefined> {
    const place = context.workspace.reopen(options.name);
    const session = await context.adoptSession(session_id, sessionOptions(context, options));
    const left = place && await session?.goOn();
    if (left !== undefined) {
      const job = new Job(context, options, place!);
      job.#session = session;
      return { job, turn: left.turn };
    }
    await session?.stop("killed");
    await place?.close();
    return undefined;
  }

  get checks(): CheckRunner {
    const { mission, openChecks } = this.#context;
    return this.#checks ??= openChecks(this.place.path, mission.options.env);
  }

  /** The session that works here, started on first use. */
  async session(): Promise<WorkSession> {
    if (this.#session !== undefined) return this.#session;
    const { mission, report, startSession, budget } = this.#context;
    this.#options.signal.throwIfAborted();
    return this.#session = await startSession({
      ...sessionOptions(this.#context, this.#options),
      workdir: this.place.path,
      model: mission.options.model,
      trust: report.session.state.trust,
      // Even in a worktree: a command can do more than change its files.
      approval: mission.options.approval,
      journal_root: mission.workdir,
      budget_usd: budget.remaining(),
    });
  }

  /** Runs a turn of the session. @throws the signal's reason when aborted. */
  async ask(prompt: string): Promise<TurnResult> {
    const session = await this.session();
    this.#context.budget.remaining();
    const { turn } = await session.begin(prompt);
    return await this.#ended(turn);
  }

  async #ended(turn: Promise<TurnResult>): Promise<TurnResult> {
    const result = await abortable(turn, this.#options.signal);
    const { stop_reason, message, error } = result;
    this.#note("turn", [stop_reason, error, message.trim()].filter(Boolean).join("\n"));
    return result;
  }

  /** As {@linkcode Job.ask}. @throws {TurnFailed} if the turn did not end well. */
  async work(prompt: string): Promise<void> {
    await this.#mustBeGood(await this.ask(prompt));
  }

  /** Waits for a turn that goes on. @throws {TurnFailed} if it does not end well. */
  async workOn(turn: Promise<TurnResult>): Promise<void> {
    await this.#mustBeGood(await this.#ended(turn));
  }

  async #mustBeGood(result: TurnResult): Promise<void> {
    if (result.stop_reason !== "ok") throw new TurnFailed((await this.session()).id, result);
  }

  /**
   * Makes the work part of the mission's result; turns resolve conflicts.
   *
   * @returns the commit, if anything was changed.
   * @throws {SvcError} conflict if they are not resolved.
   */
  async integrate(
    message: string,
    ready?: (commit: string) => void,
  ): Promise<string | undefined> {
    const { signal } = this.#options;
    for (let turns = 0;; turns++) {
      const integration = await this.place.integrate({ message, ready, signal });
      if (integration.merged) return integration.commit;
      await this.resolve(integration.conflicts, turns);
    }
  }

  /** Has conflicting files repaired. @param turns the number of turns already spent on them. */
  async resolve(files: string[], turns: number): Promise<void> {
    const { mission, report } = this.#context;
    const { task_id } = this.#options.about;
    this.#note("conflict", files.join("\n"));
    await report.emit("mission.conflict", { mission_id: mission.id, task_id, files });
    if (turns >= CONFLICT_TURNS) {
      throw new SvcError(
        "conflict",
        `the conflicts in ${files.join(", ")} are not resolved after ${turns} turns`,
      );
    }
    await this.work(conflictPrompt(files));
  }

  #note(event: string, detail: string): void {
    this.#context.report.note({ ...this.#options.about, event, detail });
  }

  /** Ends its session and removes its place, unless the next daemon goes on with them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#checks?.close();
    const { about, signal: { reason } } = this.#options;
    const parked = reason instanceof Stopped && reason.reason === "parked";
    if (parked && about.task_id !== undefined && this.#session !== undefined) {
      return await this.#session.leave(this.#context.grace_ms());
    }
    await this.#session?.stop(this.#options.signal.aborted ? "killed" : "completed");
    await this.place.close();
  }
}
