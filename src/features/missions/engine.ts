import type * as z from "zod";
import type { missionListSchema } from "./schemas.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import { Budget } from "./budget.ts";
import { MissionFiles, type MissionPaths, missionPaths } from "./files.ts";
import { admit, type CreateMission, type MissionParts, record, startOwnParent } from "./intake.ts";
import type { CriterionState, Mission, MissionLogEntry, TaskState } from "./mission.ts";
import { Report } from "./report.ts";
import { MissionRun } from "./run.ts";
import type { StopReason } from "./job.ts";
import { plainWorkspace } from "./workspace.ts";

/** A mission with its progress. */
export interface MissionView {
  mission: Mission;
  tasks: ReadonlyMap<string, TaskState>;
  criteria: ReadonlyMap<string, CriterionState>;
  paths: MissionPaths;
}

interface Running {
  run: MissionRun;
  /** Resolves when nothing of it runs any longer; never rejects. */
  ended: Promise<void>;
}

export class MissionEngine {
  readonly #parts: MissionParts;
  readonly #runs = new Map<string, Running>();
  #closing: Promise<void> | undefined;
  #grace_ms = 0;

  constructor(parts: MissionParts) {
    this.#parts = parts;
  }

  /**
   * Creates and starts a mission; it is on the disk when this resolves.
   *
   * @throws {SvcError} validation for an unusable spec, workdir or model; not_found or ended for
   * the session; conflict if the workdir is taken or its session may only read.
   */
  async create(request: CreateMission): Promise<MissionView> {
    if (this.#closing !== undefined) {
      throw new SvcError("shutting_down", "the daemon is stopping and accepts no missions");
    }
    const admitted = await admit(this.#parts, request);
    const { parent, owns_session } = admitted;
    try {
      const { mission, resumed } = await record(this.#parts, admitted, [...this.#runs.keys()]);
      await this.#beginOrFail(mission, parent, { resumed });
      return this.get(mission.id);
    } catch (error) {
      if (owns_session) await this.#parts.endParent(parent.id);
      throw error;
    }
  }

  /** Starts a mission; one that cannot start has failed. */
  async #beginOrFail(
    mission: Mission,
    parent: Session,
    how: { resumed: boolean },
  ): Promise<void> {
    try {
      await this.#begin(mission, parent, how);
    } catch (error) {
      const at = new Date().toISOString();
      this.#parts.store.finish(mission.id, "failed", messageOf(error), at);
      await this.#release(mission);
      throw error;
    }
  }

  async #begin(
    mission: Mission,
    parent: Session,
    { resumed }: { resumed: boolean },
  ): Promise<void> {
    const { store, log, dir, new_lane_id, startSession, adoptSession, openChecks, prewarm } =
      this.#parts;
    const { id, spec, branch, options, cost_usd } = mission;
    const files = new MissionFiles({ dir, mission_id: id, spec, log });
    const report = new Report({ mission_id: id, session: parent, store, files, log, new_lane_id });
    const budget = new Budget(store, {
      mission_id: id,
      limit_usd: options.budget_usd,
      spent_usd: cost_usd,
    });
    const workspace = branch === undefined
      ? plainWorkspace(mission.workdir)
      : await this.#parts.gitWorkspace(mission, branch);
    const run = new MissionRun({
      mission,
      store,
      report,
      workspace,
      startSession,
      adoptSession,
      grace_ms: () => this.#grace_ms,
      openChecks,
      prewarm,
      budget,
    });
    report.note({ event: resumed ? "resumed" : "begun", detail: spec.name });
    if (branch === undefined) {
      report.note({
        event: "no_worktrees",
        detail:
          "the workdir is not the top of a git repository with a commit, so tasks run one at a time",
      });
    }
    await report.emit(resumed ? "mission.resumed" : "mission.created", {
      mission_id: id,
      name: spec.name,
      tasks: spec.sessions.flatMap(({ tasks }) => tasks).length,
      criteria: spec.sessions.flatMap((session) => session.acceptance_criteria).length,
    });
    this.#runs.set(id, { run, ended: this.#carryOut(mission, run, parent) });
  }

  async #carryOut({ id }: Mission, run: MissionRun, parent: Session): Promise<void> {
    const { log, watchWrites } = this.#parts;
    try {
      const endWatch = await watchWrites(parent);
      await run.start().finally(endWatch);
      const mission = this.#parts.store.get(id)!;
      if (mission.status !== "running") await this.#release(mission);
    } catch (error) {
      log.error("cannot record the end of a mission", { mission_id: id, error: messageOf(error) });
    } finally {
      this.#runs.delete(id);
    }
  }

  /** Removes what an ended mission has left. */
  async #release({ id, owns_session, session_id }: Mission): Promise<void> {
    if (owns_session) await this.#parts.endParent(session_id);
    this.#parts.store.release(id);
  }

  /** As {@linkcode MissionEngine.#release}, for a mission of an earlier daemon. */
  async #releaseLeft(mission: Mission): Promise<void> {
    const { branch } = mission;
    if (branch !== undefined) await (await this.#parts.gitWorkspace(mission, branch)).close();
    await this.#release(mission);
  }

  /** Resumes the missions that an earlier daemon left unfinished. */
  async resumeAll(): Promise<void> {
    for (const mission of this.#parts.store.unfinished()) {
      const { id, status } = mission;
      try {
        await (status === "running" ? this.#resume(mission) : this.#releaseLeft(mission));
      } catch (error) {
        this.#parts.log.error("cannot resume a mission", {
          mission_id: id,
          error: messageOf(error),
        });
      }
    }
  }

  async #resume(mission: Mission): Promise<void> {
    let parent: Session | undefined;
    try {
      parent = await this.#parts.session(mission.session_id);
    } catch {
      // Its journal is gone or unreadable; another session takes its place.
    }
    if (parent === undefined || parent.final) {
      parent = await startOwnParent(this.#parts, mission);
      this.#parts.store.move(mission.id, parent.id);
      mission = this.#parts.store.get(mission.id)!;
    }
    await this.#beginOrFail(mission, parent, { resumed: true });
  }

  /** @throws {SvcError} not_found. */
  get(id: string): MissionView {
    const mission = this.#parts.store.get(id);
    if (mission === undefined) {
      throw new SvcError("not_found", `there is no mission ${JSON.stringify(id)}`, {
        hint: "mission.list shows the missions",
      });
    }
    return this.#view(mission);
  }

  #view(mission: Mission): MissionView {
    const { store, dir } = this.#parts;
    const { id } = mission;
    return {
      mission,
      tasks: store.tasks(id),
      criteria: store.criteria(id),
      paths: missionPaths(dir, id),
    };
  }

  /** Missions, newest first. @param options.cursor the `next_cursor` of the previous page. */
  list(
    { status, limit, cursor }: z.output<ReturnType<typeof missionListSchema>>,
  ): { missions: MissionView[]; next_cursor?: string } {
    const { missions, next } = this.#parts.store.list({ status, limit, before: cursor });
    return { missions: missions.map((mission) => this.#view(mission)), next_cursor: next };
  }

  /** Lines of a mission's log: those after `since_seq`, else the newest. */
  logs(id: string, options: { since_seq?: number; limit: number }): MissionLogEntry[] {
    this.get(id);
    return this.#parts.store.logs(id, options);
  }

  /**
   * Cancels a mission; resolves when nothing of it runs any longer.
   *
   * @throws {SvcError} not_found; conflict if it has ended otherwise.
   */
  async cancel(id: string): Promise<MissionView> {
    const { mission } = this.get(id);
    if (mission.status === "running") {
      const why = "the mission was cancelled";
      await this.#stop(id, "cancelled", why);
      // One that broke off is still recorded as running.
      this.#parts.store.finish(id, "cancelled", why, new Date().toISOString());
    }
    const view = this.get(id);
    if (view.mission.status === "cancelled") return view;
    throw new SvcError("conflict", `mission ${id} is already ${view.mission.status}`);
  }

  /**
   * Parks the missions for a stop of the daemon and closes the database.
   *
   * @param grace_ms how long their turns may take to a safe point
   */
  close(grace_ms: number): Promise<void> {
    this.#grace_ms = grace_ms;
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    const ids = [...this.#runs.keys()];
    await Promise.all(ids.map((id) => this.#stop(id, "parked", "the daemon is stopping")));
    this.#parts.store.close();
  }

  async #stop(id: string, reason: StopReason, why: string): Promise<void> {
    const running = this.#runs.get(id);
    running?.run.stop(reason, why);
    await running?.ended;
  }
}
