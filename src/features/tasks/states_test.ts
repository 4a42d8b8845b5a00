import { assertEquals } from "@std/assert";
import { after, type Step, type TaskState } from "./states.ts";

const AT = Date.UTC(2030, 0, 1);
const CREATED_AT = "2030-01-01T00:00:00.000Z";
const LATER = "2030-01-01T00:00:05.000Z";

function task(given: Partial<TaskState> = {}): TaskState {
  return {
    mode: "queue",
    status: "queued",
    attempts: 0,
    max_attempts: 2,
    created_at: CREATED_AT,
    ...given,
  };
}

function running(given: Partial<TaskState> = {}): TaskState {
  return task({ status: "running", attempts: 1, started_at: LATER, ...given });
}

const STEPS: Record<Step["kind"], Step> = {
  started: { kind: "started" },
  lost: { kind: "lost" },
  completed: { kind: "completed", summary: "so", size: 2, extras: "{}" },
  failed: { kind: "failed", error: "no" },
  retry: { kind: "retry", error: "busy", not_before: AT + 1_000 },
  returned: { kind: "returned", reason: "the daemon stopped" },
};

Deno.test("which step follows which status", () => {
  const table = (["queued", "running", "completed", "failed"] as const).map((status) => [
    status,
    Object.values(STEPS).flatMap((step) => {
      const change = after(running({ status }), step, AT);
      return change === undefined ? [] : [`${step.kind} → ${change.status}`];
    }),
  ]);
  assertEquals(Object.fromEntries(table), {
    queued: ["started → running", "failed → failed"],
    running: [
      "lost → queued",
      "completed → completed",
      "failed → failed",
      "retry → queued",
      "returned → queued",
    ],
    completed: [],
    failed: [],
  });
});

Deno.test("a start counts an attempt, and names the worker of another machine", () => {
  assertEquals(after(task(), STEPS.started, AT), {
    status: "running",
    attempts: 1,
    started_at: CREATED_AT,
    event: "started",
    detail: "attempt 1 of 2",
  });
  const by = after(task({ attempts: 1 }), { kind: "started", worker: "machine/1" }, AT)!;
  assertEquals([by.worker, by.detail], ["machine/1", "attempt 2 of 2, by machine/1"]);
});

Deno.test("a lost attempt counts; the last one fails the task, as does one a client waits for", () => {
  assertEquals(after(running(), STEPS.lost, AT), {
    status: "queued",
    attempts: 1,
    not_before: 0,
    event: "retry",
    detail: "lost when the daemon stopped, attempt 1 of 2",
  });
  const last = after(running({ attempts: 2, worker: "machine/1" }), STEPS.lost, AT)!;
  assertEquals([last.status, last.error], [
    "failed",
    "lost with its worker machine/1, attempt 2 of 2",
  ]);
  const waited = after(running({ mode: "sync", max_attempts: 1 }), STEPS.lost, AT)!;
  assertEquals([waited.status, waited.error], ["failed", "lost when the daemon stopped"]);
});

Deno.test("an attempt that is given back does not count", () => {
  const { status, attempts, started_at, event } = after(running(), STEPS.returned, AT)!;
  assertEquals([status, attempts, started_at, event], ["queued", 0, undefined, "returned"]);
});

Deno.test("a cancelled task says so; its end is never before its start", () => {
  const step = { kind: "failed", error: "cancelled", cancelled: true } as const;
  const change = after(running(), step, AT)!;
  assertEquals([change.status, change.cancelled, change.event], ["failed", true, "cancelled"]);
  assertEquals(change.completed_at, LATER);
  assertEquals(after(task(), step, AT)!.completed_at, CREATED_AT);
});
