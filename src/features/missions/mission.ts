/** What a mission is: asked for, recorded, shown. */
import type * as z from "zod";
import type { Check, MissionSpec } from "./spec.ts";
import type { EventData, Tier } from "../../protocol/events.ts";
import type { missionLogEntrySchema } from "./schemas.ts";

export type MissionStatus = "running" | "completed" | "failed" | "cancelled";
export type TaskStatus =
  | "pending"
  | "running"
  | "completed"
  | "failed"
  | "cancelled"
  /** Never begun, because of what it depends on or of an earlier failure. */
  | "skipped";
export type CriterionStatus =
  | "pending"
  | "running"
  | "passed"
  /** Let through though its check failed (tier T8); never for a fault of the code. */
  | "soft_passed"
  | "failed";

export type FailureClass = NonNullable<EventData["descent.tier_changed"]["failure_class"]>;

/** What the one who asks for a mission decides about it. */
export interface MissionOptions {
  /** What the sessions of its tasks are called in a model registry. */
  model: string;
  /** Whether rewriting a check and soft passes need a person. */
  approval: "auto" | "ask";
  /** Go on with what does not depend on a failure. */
  continue_on_failure: boolean;
  /** Tasks that may run at once where they have worktrees. */
  parallel: number;
  budget_usd?: number;
  /** Set for the commands of its criteria. */
  env?: Record<string, string>;
}

/** The git side of a mission in a repository. */
export interface MissionBranch {
  /** Without `refs/heads/`. */
  name: string;
  /** The commit it began at. */
  base: string;
}

/** A mission as it is recorded. Timestamps are RFC 3339 in UTC. */
export interface Mission {
  /** `m-` and a ULID. */
  id: string;
  /** The session that shows its lanes and events. */
  session_id: string;
  /** Whether that session was made for it, and ends with it. */
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

/** Where a task stands. */
export interface TaskState {
  task_id: string;
  status: TaskStatus;
  /** How often it was begun. */
  attempts: number;
  /** The session that works on it, or did last. */
  session_id?: string;
  /** What it has committed: part of the result once that is an ancestor of the mission's branch. */
  commit?: string;
  error?: string;
  started_at?: string;
  completed_at?: string;
}

/** Where a criterion stands. */
export interface CriterionState {
  ac_id: string;
  status: CriterionStatus;
  tier?: Tier;
  failure_class?: FailureClass;
  /** The line of the mission's log that shows it, `<mission>#<seq>`. */
  evidence_ref?: string;
  /** What replaced its check (tier T6). */
  rewritten?: Check;
}

/** A line of a mission's log. */
export type MissionLogEntry = z.output<ReturnType<typeof missionLogEntrySchema>>;

/** Names a line of a mission's log as evidence. */
export function evidenceRef(mission_id: string, seq: number): string {
  return `${mission_id}#${seq}`;
}
