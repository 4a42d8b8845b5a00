import type * as z from "zod";
import type { Check, MissionSpec } from "./spec.ts";
import type { Approval, EventData, Tier } from "../../protocol/events.ts";
import type { missionLogEntrySchema } from "./schemas.ts";

export type MissionStatus = "running" | "completed" | "failed" | "cancelled";
export type TaskStatus =
  | "pending"
  | "running"
  | "completed"
  | "failed"
  | "cancelled"
  /** Never started, because of its dependencies or an earlier failure. */
  | "skipped";
export type CriterionStatus =
  | "pending"
  | "running"
  | "passed"
  /** Passed although its check failed (tier T8); never for a fault of the code. */
  | "soft_passed"
  | "failed";

export type FailureClass = NonNullable<EventData["descent.tier_changed"]["failure_class"]>;

export type MissionApproval = Exclude<Approval, "read_only">;

/** The settings of a mission. */
export interface MissionOptions {
  model: string;
  /** Whether rewriting a check and soft passes need a person. */
  approval: MissionApproval;
  /** Continue with what does not depend on a failure. */
  continue_on_failure: boolean;
  /** Number of concurrent tasks, with worktrees. */
  parallel: number;
  budget_usd?: number;
  /** Set for the commands of its criteria. */
  env?: Record<string, string>;
}

export interface MissionBranch {
  /** Without `refs/heads/`. */
  name: string;
  /** The commit it started from. */
  base: string;
}

/** A recorded mission. Timestamps are RFC 3339 in UTC. */
export interface Mission {
  /** `m-` and a ULID. */
  id: string;
  /** The session that shows its lanes and events. */
  session_id: string;
  /** Whether that session was created for it, and ends with it. */
  owns_session: boolean;
  workdir: string;
  spec: MissionSpec;
  options: MissionOptions;
  status: MissionStatus;
  error?: string;
  created_at: string;
  completed_at?: string;
  branch?: MissionBranch;
  /** The commit that brought its result into the workdir's branch. */
  commit?: string;
  cost_usd: number;
}

export interface TaskState {
  task_id: string;
  status: TaskStatus;
  /** How often it was started. */
  attempts: number;
  /** The session that works on it, or did last. */
  session_id?: string;
  /** Its commit: part of the result once that is an ancestor of the mission's branch. */
  commit?: string;
  error?: string;
  started_at?: string;
  completed_at?: string;
}

export interface CriterionState {
  ac_id: string;
  status: CriterionStatus;
  tier?: Tier;
  failure_class?: FailureClass;
  /** The evidence in the mission's log, `<mission>#<seq>`. */
  evidence_ref?: string;
  /** What replaced its check (tier T6). */
  rewritten?: Check;
}

export type MissionLogEntry = z.output<ReturnType<typeof missionLogEntrySchema>>;
