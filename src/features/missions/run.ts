/** A running mission: its sessions in order, the tasks of each by their dependencies. */
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { accept } from "./acceptance.ts";
import type { MissionStatus } from "./mission.ts";
import type { MissionLane } from "./report.ts";
import type { CriterionSpec, SessionSpec } from "./spec.ts";
import { TaskRunner } from "./task_runner.ts";
import { Job, type RunContext, Stopped, type StopReason } from "./job.ts";

/** How often to update the result because the workdir's branch moves on. */
const DELIVERIES_MAX = 5;

type End = { status: Exclude<MissionStatus, "running">; error?: string; branch?: string };

export class MissionRun {
  readonly #context: RunContext;
  readonly #stop = new AbortController();
  /** Fires when it is stopped, or its budget is spent. */
  readonly #signal: AbortSignal;
  readonly #tasks: TaskRunner;
  /** The first failure, which ends the mission unless it continues regardless. */
  #failure: string | undefined;

  constructor(context: RunContext) {
    this.#context = context;
    this.#signal = AbortSignal.any([this.#stop.signal, context.budget.exceeded]);
    this.#tasks = new TaskRunner(context, {
      signal: this.#signal,
      halted: () => this.#halted,
      fail: (why) => this.#fail(why),
    });
  }

  stop(reason: StopReason, why: string): void {
    this.#stop.abort(new Stopped(reason, why));
  }

  /** Starts or continues the mission; resolves when it has ended or is parked. */
  async start(): Promise<void> {
    const { mission, report } = this.#context;
    let main: MissionLane | undefined;
    try {
      main = await report.openLane(`mission ${mission.spec.name}`);
      const killed = () => this.stop("cancelled", "its lane was stopped");
      main.signal.addEventListener("abort", killed, { once: true });
      if (main.signal.aborted) killed();
      await main.move("running", "the mission has started", "mission_started");
      const end = await this.#work(main);
      await this.#finish(main, end);
    } catch (error) {
      report.warn("a mission was interrupted; it continues when the daemon starts again", error);
      await main?.end("errored", "the mission was interrupted").catch(() => {});
    }
  }

  async #work(main: MissionLane): Promise<End | undefined> {
    const { workspace } = this.#context;
    const signal = this.#signal;
    let end: End | undefined;
    try {
      await workspace.prepare(signal, this.#tasks.leftJobs());
      await this.#tasks.settleMerged();
      await this.#tasks.openLanes(main);
      for (const session of this.#context.mission.spec.sessions) {
        await this.#runSession(session, main);
        if (this.#halted) break;
      }
      signal.throwIfAborted();
      if (this.#failure === undefined) await this.#deliver(main);
      end = this.#failure === undefined
        ? { status: "completed" }
        : { status: "failed", error: this.#failure };
    } catch (error) {
      const cause = signal.aborted ? signal.reason : error;
      if (!(cause instanceof Stopped)) end = { status: "failed", error: messageOf(cause) };
      else if (cause.reason === "cancelled") end = { status: "cancelled", error: cause.message };
    }
    if (end !== undefined) await this.#tasks.dropLeft();
    const branch = end === undefined ? undefined : await workspace.close();
    return end && { ...end, branch };
  }

  /** Records the end; a parked mission has none. */
  async #finish(main: MissionLane, end: End | undefined): Promise<void> {
    const { mission, store, report } = this.#context;
    if (end === undefined) {
      await this.#tasks.endLanes("the daemon is stopping");
      return await main.end("cancelled", "the daemon is stopping");
    }
    const { status, branch } = end;
    const kept = branch === undefined ? "" : `; the work so far is on the branch ${branch}`;
    const error = end.error === undefined ? undefined : `${end.error}${kept}`;
    this.#tasks.skipPending(`the mission is ${status}`);
    report.note({ event: status, detail: error }, { failure: status !== "completed" });
    store.finish(mission.id, status, error, new Date().toISOString());
    await this.#tasks.endLanes(`the mission is ${status}`);
    const lane_end = status === "completed" ? "done" : status === "failed" ? "errored" : status;
    await main.end(lane_end, error ?? "every criterion is met");
    await report.emit("mission.completed", { mission_id: mission.id, status, error });
  }

  /** Whether a failure prevents further work. */
  get #halted(): boolean {
    return this.#failure !== undefined && !this.#context.mission.options.continue_on_failure;
  }

  #fail(why: string): void {
    this.#failure ??= why;
  }

  async #runSession(session: SessionSpec, main: MissionLane): Promise<void> {
    const { mission, store, report } = this.#context;
    await this.#tasks.run(session.tasks);
    this.#signal.throwIfAborted();
    if (this.#halted) return;
    const criteria = store.criteria(mission.id);
    const open = session.acceptance_criteria.some(({ id }) =>
      ["pending", "running"].includes(criteria.get(id)!.status)
    );
    if (!open) return this.#noteUnmet(session);
    report.note({ event: "acceptance", detail: session.title });
    const name = `s${mission.spec.sessions.indexOf(session) + 1}`;
    await this.#accept(name, session.title, session.acceptance_criteria, main);
    this.#noteUnmet(session);
  }

  #noteUnmet({ acceptance_criteria }: SessionSpec): void {
    const { mission, store } = this.#context;
    const criteria = store.criteria(mission.id);
    const unmet = acceptance_criteria.filter(({ id }) => criteria.get(id)!.status === "failed");
    if (unmet.length === 0) return;
    this.#fail(
      `not met: ${unmet.map(({ id, description }) => `${id} (${description})`).join(", ")}`,
    );
  }

  async #accept(
    name: string,
    label: string,
    criteria: readonly CriterionSpec[],
    main: MissionLane,
  ): Promise<boolean> {
    const lane = await this.#context.report.openLane(`criteria of ${label}`, main.id);
    const signal = AbortSignal.any([this.#signal, lane.signal]);
    await lane.move("running", "checking the criteria", "acceptance_started");
    try {
      await using job = await Job.open(this.#context, {
        ...{ name, goal: `criteria of ${label}`, about: {}, lane, signal },
      });
      await this.#update(job);
      const unmet = await accept(this.#context, { criteria, job, lane, signal });
      const met = unmet.length === 0;
      await lane.end(met ? "done" : "errored", met ? "they hold" : `not met: ${unmet.join(", ")}`);
      return met;
    } catch (error) {
      await lane.end(signal.aborted ? "cancelled" : "errored", messageOf(error));
      throw error;
    }
  }

  /** Brings the result to the workdir, after merging what was committed there meanwhile. */
  async #deliver(main: MissionLane): Promise<void> {
    const { mission, workspace, store, report } = this.#context;
    const signal = this.#signal;
    for (let round = 1; round <= DELIVERIES_MAX; round++) {
      const delivery = await workspace.deliver(signal);
      if (delivery.delivered) {
        if (delivery.commit !== undefined) store.deliver(mission.id, delivery.commit);
        return void report.note({ event: "delivered", detail: delivery.commit });
      }
      if (!delivery.behind) {
        return this.#fail(
          `the result cannot be merged into ${mission.workdir}: ${delivery.reason}`,
        );
      }
      const criteria = mission.spec.sessions.flatMap((session) => session.acceptance_criteria);
      const met = await this.#accept(`d${round}`, "the whole mission", criteria, main);
      if (!met) return this.#fail("a criterion is not met together with newer commits");
    }
    throw new SvcError("conflict", `the branch checked out in ${mission.workdir} keeps changing`);
  }

  /** Merges the workdir's newer commits into a job: the criteria must pass with them. */
  async #update(job: Job): Promise<void> {
    const { workspace } = this.#context;
    const conflicts = await workspace.update(job.place, this.#signal);
    if (conflicts.length === 0) return;
    await job.resolve(conflicts, 0);
    await job.integrate("Merge newer commits");
  }
}
