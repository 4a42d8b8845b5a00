import { assertEquals } from "@std/assert";
import { changesOf, type Criterion, type Mission, stepsOf, type Task } from "./steps.ts";

function task(id: string, dependencies: string[] = [], more: Partial<Task> = {}): Task {
  const task = { id, description: id, dependencies, files: [], status: "pending", attempts: 0 };
  return { ...task, ...more } as Task;
}

function criterion(id: string, status: Criterion["status"]): Criterion {
  return { id, description: id, status };
}

function mission(...sessions: { tasks: Task[]; criteria?: Criterion[] }[]): Mission {
  return {
    name: "demo",
    status: "running",
    sessions: sessions.map(({ tasks, criteria = [] }, n) => ({
      id: `s${n}`,
      title: `Session ${n}`,
      tasks,
      acceptance_criteria: criteria,
    })),
  } as unknown as Mission;
}

Deno.test("a session's criteria come after its last tasks, the next session after them", () => {
  const steps = stepsOf(mission(
    { tasks: [task("a"), task("b", ["a"]), task("c")], criteria: [criterion("x", "pending")] },
    { tasks: [task("d"), task("e", ["a"]), task("f", ["d"])] },
    { tasks: [task("g")] },
  ));
  assertEquals(steps.map(({ id, after }) => `${id} < ${after.join(", ")}`), [
    "task a < ",
    "task b < task a",
    "task c < ",
    "criteria 0 < task b, task c",
    "task d < criteria 0",
    "task e < task a, criteria 0",
    "task f < task d",
    "task g < task e, task f",
  ]);
});

Deno.test("a gate tells how many criteria hold", () => {
  const gate = (...statuses: Criterion["status"][]) => {
    const criteria = statuses.map((status, n) => criterion(`c${n}`, status));
    const { status, detail } = stepsOf(mission({ tasks: [task("a")], criteria }))[1];
    return `${status} ${detail}`;
  };
  assertEquals(gate("pending", "pending"), "pending 0/2");
  assertEquals(gate("passed", "pending"), "running 1/2");
  assertEquals(gate("passed", "soft_passed"), "passed 2/2");
  assertEquals(gate("passed", "failed", "running"), "failed 1/3");
});

Deno.test("what has ended since is worth saying, what began is not", () => {
  const before = mission({
    tasks: [task("a", [], { status: "running" }), task("b")],
    criteria: [criterion("x", "running")],
  });
  const now = mission({
    tasks: [task("a", [], { status: "completed" }), task("b", [], { status: "running" })],
    criteria: [criterion("x", "soft_passed")],
  });
  now.status = "completed";
  assertEquals(changesOf(before, now), [
    "Task a completed",
    "Criterion x soft passed",
    "Mission demo completed",
  ]);
  assertEquals(changesOf(now, now), []);
});
