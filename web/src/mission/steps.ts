/** A mission as the steps of its graph: its tasks, and the gates that their criteria are. */
import type { Result } from "../rpc/api.ts";
import type { GraphNode } from "./graph_layout.ts";

export type Mission = Result<"mission.get">;
export type MissionSession = Mission["sessions"][number];
export type Task = MissionSession["tasks"][number];
export type Criterion = MissionSession["acceptance_criteria"][number];

/** A node of the graph. */
export interface Step extends GraphNode {
  label: string;
  status: Task["status"] | Criterion["status"];
  /** In a few words, beside its status. */
  detail: string;
  /** The id of the element that tells more. */
  target: string;
}

/** The id of the element that tells about the n-th criteria. */
export function criteriaTarget(session: number): string {
  return `criteria-${session}`;
}

/** The id of the element that tells about a task. */
export function taskTarget(session: number, task: number): string {
  return `task-${session}-${task}`;
}

/**
 * The steps of a mission. The tasks of a session that depend on none of the same session come after
 * all of the session before: that one's criteria, or its last tasks where it has none.
 */
export function stepsOf({ sessions }: Mission): Step[] {
  const steps: Step[] = [];
  let ends: string[] = [];
  for (const [s, { tasks, acceptance_criteria }] of sessions.entries()) {
    const own = new Set(tasks.map(({ id }) => taskStep(id)));
    const work = tasks.map((task, t): Step => {
      const after = task.dependencies.map(taskStep);
      return {
        id: taskStep(task.id),
        label: task.id,
        status: task.status,
        detail: task.attempts > 1 ? `attempt ${task.attempts}` : "",
        target: taskTarget(s, t),
        after: after.some((id) => own.has(id)) ? after : [...after, ...ends],
      };
    });
    const depended_on = new Set(work.flatMap(({ after }) => after));
    ends = work.map(({ id }) => id).filter((id) => !depended_on.has(id));
    steps.push(...work);
    if (acceptance_criteria.length === 0) continue;
    const gate = gateOf(acceptance_criteria, s, ends);
    steps.push(gate);
    ends = [gate.id];
  }
  return steps;
}

/** No task's id begins so: they are marked, too. */
function taskStep(id: string): string {
  return `task ${id}`;
}

function gateOf(criteria: readonly Criterion[], session: number, after: string[]): Step {
  const passed = criteria.filter(holds).length;
  const failed = criteria.some(({ status }) => status === "failed");
  const begun = criteria.some(({ status }) => status !== "pending");
  const all = passed === criteria.length;
  return {
    id: `criteria ${session}`,
    label: "Criteria",
    status: all ? "passed" : failed ? "failed" : begun ? "running" : "pending",
    detail: `${passed}/${criteria.length}`,
    target: criteriaTarget(session),
    after,
  };
}

function holds({ status }: Criterion): boolean {
  return status === "passed" || status === "soft_passed";
}

/** What is worth saying of what changed: ends of tasks, of criteria, and of the mission. */
export function changesOf(before: Mission, now: Mission): string[] {
  const known = new Map(partsOf(before).map(({ name, status }) => [name, status]));
  const changed = partsOf(now).filter(({ name, status }) => known.get(name) !== status);
  return changed
    .filter(({ status }) => status !== "pending" && status !== "running")
    .map(({ name, status }) => `${name} ${status.replace("_", " ")}`);
}

function partsOf({ sessions, name, status }: Mission): { name: string; status: Step["status"] }[] {
  return [
    ...sessions.flatMap(({ tasks }) =>
      tasks.map(({ id, status }) => ({ name: `Task ${id}`, status }))
    ),
    ...sessions.flatMap(({ acceptance_criteria }) =>
      acceptance_criteria.map(({ id, status }) => ({ name: `Criterion ${id}`, status }))
    ),
    { name: `Mission ${name}`, status },
  ];
}
