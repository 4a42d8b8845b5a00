/** Runs the tasks of a mission by their dependencies, several at once if possible. */
import { messageOf } from "../../protocol/errors.ts";
import type { EventData } from "../../protocol/events.ts";
import { taskPrompt } from "./prompts.ts";
import { LaneKilled, type MissionLane } from "./report.ts";
import type { SessionSpec, TaskSpec } from "./spec.ts";
import { Job, type JobOptions, type RunContext, Stopped, TurnFailed } from "./job.ts";

export interface TaskRunnerOptions {
  /** Fires when the whole mission must stop. */
  signal: AbortSignal;
  /** Whether a failure prevents further work. */
  halted(): boolean;
  /** Called when the mission can no longer complete. */
  fail(why: string): void;
}

/** How often a task is started if its model fails. */
const ATTEMPTS_MAX = 2;

export class TaskRunner {
  readonly #context: RunContext;
  readonly #options: TaskRunnerOptions;
  readonly #lanes = new Map<string, MissionLane>();
  /** Sessions of tasks that an earlier daemon left, by task. */
  readonly #left = new Map<string, string>();
  #main: MissionLane | undefined;
  #warmed = false;

  constructor(context: RunContext, options: TaskRunnerOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Names of the jobs that an earlier daemon left at work. */
  leftJobs(): string[] {
    const { mission, store } = this.#context;
    return [...store.tasks(mission.id).values()]
      .filter(({ status, session_id }) => status === "running" && session_id !== undefined)
      .map(({ task_id }) => this.#nameOf(task_id));
  }

  #nameOf(task_id: string): string {
    return String(taskNumber(this.#context.mission.spec.sessions, task_id));
  }

  /** Settles the running tasks of an earlier daemon: merged ones are done, others go on. */
  async settleMerged(): Promise<void> {
    const { mission, store, workspace, report } = this.#context;
    for (const { task_id, status, commit, session_id } of store.tasks(mission.id).values()) {
      if (status === "failed" || status === "cancelled") {
        this.#options.fail(`task ${task_id} ${status === "failed" ? "failed" : "was cancelled"}`);
      }
      if (status !== "running") continue;
      const merged = commit !== undefined &&
        await workspace.contains(commit, this.#options.signal);
      if (merged) {
        await this.#completed(task_id, commit);
      } else {
        if (session_id !== undefined) this.#left.set(task_id, session_id);
        report.note({ task_id, event: "cut_off" });
        store.setTask(mission.id, { task_id, status: "pending", commit: undefined });
      }
    }
  }

  async #completed(task_id: string, commit: string | undefined): Promise<void> {
    const { mission, store, report } = this.#context;
    const completed_at = new Date().toISOString();
    store.setTask(mission.id, { task_id, status: "completed", commit, completed_at });
    report.note({ task_id, event: "completed", detail: commit });
    await this.#tellEnd({ task_id, status: "completed", commit });
  }

  async #tellEnd(end: Omit<EventData["mission.task_completed"], "mission_id">): Promise<void> {
    const { mission, report } = this.#context;
    await report.emit("mission.task_completed", { mission_id: mission.id, ...end });
  }

  /** Opens a lane for each pending task. */
  async openLanes(main: MissionLane): Promise<void> {
    this.#main = main;
    const { mission, store, report } = this.#context;
    const states = store.tasks(mission.id);
    for (const { id } of mission.spec.sessions.flatMap(({ tasks }) => tasks)) {
      if (states.get(id)!.status !== "pending") continue;
      this.#lanes.set(id, await report.openLane(`task ${id}`, main.id));
    }
  }

  /** Skips the pending tasks of all sessions. */
  skipPending(why: string): void {
    const { mission, store } = this.#context;
    for (const { task_id, status } of store.tasks(mission.id).values()) {
      if (status === "pending") this.#skip(task_id, why);
    }
  }

  async endLanes(reason: string): Promise<void> {
    for (const lane of this.#lanes.values()) await lane.end("cancelled", reason);
  }

  /** Runs the pending tasks of a session, each when its dependencies are done. */
  async run(tasks: readonly TaskSpec[]): Promise<void> {
    const { mission, workspace } = this.#context;
    const parallel = workspace.parallel ? mission.options.parallel : 1;
    const running = new Map<string, Promise<void>>();
    try {
      while (true) {
        const ready = this.#options.halted() || this.#options.signal.aborted
          ? []
          : this.#ready(tasks, running);
        const begin = ready.slice(0, parallel - running.size);
        if (begin.length > 1) await this.#prewarm();
        for (const task of begin) {
          const work = this.#runTask(task).finally(() => running.delete(task.id));
          running.set(task.id, work);
        }
        if (running.size === 0) return;
        await Promise.race(running.values());
      }
    } finally {
      await Promise.allSettled(running.values());
    }
  }

  /**
   * Has the provider cache the prefix that several workers are about to send, which each would pay
   * for otherwise. A failure costs only the saving.
   */
  async #prewarm(): Promise<void> {
    if (this.#warmed) return;
    this.#warmed = true;
    const { mission, report, prewarm } = this.#context;
    try {
      const usage = await prewarm(mission.options.model, this.#options.signal);
      if (usage === undefined) return;
      const { tokens_in, tokens_out, tokens_cached, tokens_cache_write, usd } = usage;
      const cost = { usd_delta: usd, tokens_in, tokens_out, tokens_cached };
      if (this.#main !== undefined) {
        const lane_id = this.#main.id;
        await report.emit("cost.tick", { ...cost, lane_id, seen_seq: 0 });
        await report.emit("lane.cost", { ...cost, lane_id });
      }
      const detail = `${tokens_in} tokens, ${tokens_cached} from the cache, ` +
        `${tokens_cache_write} into it`;
      report.note({ event: "prewarmed", detail });
    } catch (error) {
      report.note({ event: "prewarm_failed", detail: messageOf(error) });
    }
  }

  /** Returns the tasks that can start, and skips those that never can. */
  #ready(tasks: readonly TaskSpec[], running: ReadonlyMap<string, unknown>): TaskSpec[] {
    const { mission, store } = this.#context;
    const states = store.tasks(mission.id);
    const ready: TaskSpec[] = [];
    for (const task of tasks) {
      if (states.get(task.id)!.status !== "pending" || running.has(task.id)) continue;
      const needed = task.dependencies.map((id) => states.get(id)!);
      const lost = needed.find(({ status }) => ["failed", "cancelled", "skipped"].includes(status));
      if (lost !== undefined) {
        this.#skip(task.id, `task ${lost.task_id} is ${lost.status}`);
        // An earlier task may depend on it.
        return this.#ready(tasks, running);
      }
      if (needed.every(({ status }) => status === "completed")) ready.push(task);
    }
    return ready;
  }

  #skip(task_id: string, why: string): void {
    const { mission, store, report } = this.#context;
    store.setTask(mission.id, { task_id, status: "skipped", error: why });
    report.note({ task_id, event: "skipped", detail: why });
  }

  /** Records a failure of the task instead of rejecting. */
  async #runTask(task: TaskSpec): Promise<void> {
    const lane = this.#lanes.get(task.id)!;
    const signal = AbortSignal.any([this.#options.signal, lane.signal]);
    try {
      await lane.move("running", "the task has started", "task_started");
      await this.#completed(task.id, await this.#attempt(task, lane, signal));
      await lane.end("done", "the task is complete");
    } catch (error) {
      if (this.#options.signal.aborted) return await this.#cutOff(task.id, lane);
      await this.#failed(task.id, lane, error);
    }
  }

  async #attempt(
    task: TaskSpec,
    lane: MissionLane,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#attemptOnce(task, lane, signal);
      } catch (error) {
        const again = error instanceof TurnFailed && error.again && attempt < ATTEMPTS_MAX;
        if (!again || signal.aborted) throw error;
        this.#context.report.note({
          task_id: task.id,
          event: "again",
          detail: messageOf(error),
        }, { failure: true });
      }
    }
  }

  async #attemptOnce(
    task: TaskSpec,
    lane: MissionLane,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { mission, store, report } = this.#context;
    const task_id = task.id;
    const name = this.#nameOf(task_id);
    const options = { name, goal: task.description, about: { task_id }, lane, signal };
    const adopted = await this.#adopt(options);
    if (adopted !== undefined) {
      await using job = adopted.job;
      store.setTask(mission.id, { task_id, status: "running", error: undefined });
      report.note({ task_id, event: "continued", detail: "its turn goes on" });
      await job.workOn(adopted.turn);
      return await this.#integrate(job, task);
    }
    const attempts = store.tasks(mission.id).get(task_id)!.attempts + 1;
    const started_at = new Date().toISOString();
    store.setTask(mission.id, {
      task_id,
      status: "running",
      attempts,
      started_at,
      error: undefined,
    });
    report.note({ task_id, event: "started", detail: `attempt ${attempts}` });
    await using job = await Job.open(this.#context, options);
    const { id: session_id } = await job.session();
    store.setTask(mission.id, { task_id, session_id });
    await report.emit("mission.task_started", {
      mission_id: mission.id,
      task_id,
      lane_id: lane.id,
      session_id,
      attempt: attempts,
    });
    await job.work(taskPrompt(mission.spec, task));
    return await this.#integrate(job, task);
  }

  async #adopt(options: JobOptions) {
    const { task_id } = options.about;
    const session_id = this.#left.get(task_id!);
    this.#left.delete(task_id!);
    return session_id && await Job.adopt(this.#context, options, session_id) || undefined;
  }

  /** Ends the sessions of tasks that no longer go on. */
  async dropLeft(): Promise<void> {
    const { mission, adoptSession } = this.#context;
    for (const [task_id, session_id] of this.#left) {
      const title = `mission ${mission.id} ${this.#nameOf(task_id)}`;
      await (await adoptSession(session_id, { title }))?.stop("killed");
    }
    this.#left.clear();
  }

  async #integrate(job: Job, task: TaskSpec): Promise<string | undefined> {
    const { mission, store } = this.#context;
    return await job.integrate(commitMessage(task), (commit) => {
      store.setTask(mission.id, { task_id: task.id, commit });
    });
  }

  async #cutOff(task_id: string, lane: MissionLane): Promise<void> {
    const { mission, store } = this.#context;
    const cause = this.#options.signal.reason;
    const message = messageOf(cause);
    if (!(cause instanceof Stopped && cause.reason === "parked")) {
      store.setTask(mission.id, { task_id, status: "cancelled", error: message });
      await this.#tellEnd({ task_id, status: "cancelled", error: message });
    }
    await lane.end("cancelled", message);
  }

  async #failed(task_id: string, lane: MissionLane, cause: unknown): Promise<void> {
    const { mission, store, report } = this.#context;
    const killed = lane.signal.aborted && lane.signal.reason instanceof LaneKilled;
    const status = killed ? "cancelled" : "failed";
    const error = killed ? lane.signal.reason.message : messageOf(cause);
    store.setTask(mission.id, { task_id, status, error, completed_at: new Date().toISOString() });
    report.note({ task_id, event: status, detail: error }, { failure: true });
    this.#options.fail(`task ${task_id} ${killed ? "was cancelled" : "failed"}: ${error}`);
    await this.#tellEnd({ task_id, status, error });
    await lane.end(killed ? "cancelled" : "errored", error);
  }
}

/** A task's place in the spec, from 1: its id may not fit into a branch name. */
function taskNumber(sessions: readonly SessionSpec[], task_id: string): number {
  return sessions.flatMap(({ tasks }) => tasks).findIndex(({ id }) => id === task_id) + 1;
}

/** Characters of a commit's first line. */
const SUBJECT_MAX = 72;

function commitMessage({ id, description }: TaskSpec): string {
  const [first] = description.split("\n", 1);
  const subject = `${id}: ${first}`;
  return subject.length > SUBJECT_MAX ? `${subject.slice(0, SUBJECT_MAX - 1)}…` : subject;
}
