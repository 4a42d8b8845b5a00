import type { MissionSpec, SpecIssue, TaskSpec } from "./spec.ts";

const TASKS_MAX = 200;
const CRITERIA_MAX = 200;

interface Placed extends TaskSpec {
  path: string;
  session: number;
}

/** Returns what is inconsistent in a spec; cycles only if nothing else is. */
export function inconsistencies(spec: MissionSpec): SpecIssue[] {
  const tasks = spec.sessions.flatMap(({ tasks }, s) =>
    tasks.map((task, t): Placed => ({ ...task, path: `sessions[${s}].tasks[${t}]`, session: s }))
  );
  const criteria = spec.sessions.flatMap(({ acceptance_criteria }, s) =>
    acceptance_criteria.map(({ id }, c) => ({
      id,
      path: `sessions[${s}].acceptance_criteria[${c}]`,
    }))
  );
  const sessions = spec.sessions.map(({ id }, s) => ({ id, path: `sessions[${s}]` }));
  const issues = [
    ...duplicates("session", sessions),
    ...duplicates("task", tasks),
    ...duplicates("criterion", criteria),
    ...badDependencies(tasks),
  ];
  if (tasks.length > TASKS_MAX) {
    issues.push({ path: "sessions", message: `more than ${TASKS_MAX} tasks` });
  }
  if (criteria.length > CRITERIA_MAX) {
    issues.push({ path: "sessions", message: `more than ${CRITERIA_MAX} criteria` });
  }
  return issues.length > 0 ? issues : cycles(tasks);
}

function duplicates(what: string, items: readonly { id: string; path: string }[]): SpecIssue[] {
  const first = new Map<string, string>();
  return items.flatMap(({ id, path }) => {
    const before = first.get(id);
    if (before === undefined) first.set(id, path);
    return before === undefined
      ? []
      : [{ path: `${path}.id`, message: `the ${what} "${id}" already exists at ${before}` }];
  });
}

function badDependencies(tasks: readonly Placed[]): SpecIssue[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  return tasks.flatMap(({ id, dependencies, path, session }) =>
    dependencies.flatMap((wanted, n) => {
      const problem = badDependency(id, session, wanted, byId);
      return problem === undefined
        ? []
        : [{ path: `${path}.dependencies[${n}]`, message: problem }];
    })
  );
}

function badDependency(
  id: string,
  session: number,
  wanted: string,
  tasks: ReadonlyMap<string, Placed>,
): string | undefined {
  const target = tasks.get(wanted);
  if (target === undefined) return `no task "${wanted}"`;
  if (wanted === id) return `the task "${id}" depends on itself`;
  return target.session > session
    ? `the task "${wanted}" belongs to a later session, ${target.path}`
    : undefined;
}

/** The first cycle, named task by task. */
function cycles(tasks: readonly Placed[]): SpecIssue[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const done = new Set<string>();
  for (const start of tasks) {
    const trail: string[] = [];
    const found = findCycle(start.id, byId, done, trail);
    if (found === undefined) continue;
    const { path, dependencies } = byId.get(found[0])!;
    const n = dependencies.indexOf(found[1]);
    const message = `the tasks depend on each other in a circle: ${found.join(" → ")}`;
    return [{ path: `${path}.dependencies[${n}]`, message }];
  }
  return [];
}

/** The ids of a cycle that is reached from `id`, the first repeated at the end. */
function findCycle(
  id: string,
  tasks: ReadonlyMap<string, Placed>,
  done: Set<string>,
  trail: string[],
): string[] | undefined {
  const before = trail.indexOf(id);
  if (before >= 0) return [...trail.slice(before), id];
  if (done.has(id)) return undefined;
  trail.push(id);
  for (const next of tasks.get(id)!.dependencies) {
    const found = findCycle(next, tasks, done, trail);
    if (found !== undefined) return found;
  }
  trail.pop();
  done.add(id);
  return undefined;
}
