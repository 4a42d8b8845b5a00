import { assertEquals } from "@std/assert";
import { hasEnded } from "../task.ts";
import { lost, queued, settled, started, type StoredTask } from "./transitions.ts";

const AT = Date.UTC(2030, 0, 1);
const RUNNER = { process: "p", worker: "machine/1" };

function task(max_attempts = 2): StoredTask {
  return queued({
    id: "t-1",
    mode: "queue",
    request: { task_type: "research", query: "why", effort: "minimal" },
    hired: true,
    max_attempts,
    created_at: new Date(AT).toISOString(),
  });
}

Deno.test("a task shows what is asked for, then who runs it, then what came of it", () => {
  const asked = task();
  const created_at = "2030-01-01T00:00:00.000Z";
  const shown = { id: "t-1", task_type: "research", effort: "minimal", subject: "why" };
  assertEquals(asked.record, {
    ...shown,
    effort: "minimal",
    hired: true,
    status: "queued",
    created_at,
    attempts: 0,
  });
  const running = started(asked, RUNNER, AT + 1_000);
  assertEquals([running.record.status, running.record.attempts], ["running", 1]);
  assertEquals([running.record.worker, running.process], ["machine/1", "p"]);
  const extras = JSON.stringify({ usage: { pages: 1 } });
  const done = settled(running, { kind: "completed", summary: "so", size: 2, extras }, AT + 2_000);
  assertEquals(done.process, undefined);
  assertEquals(done.record, {
    ...running.record,
    status: "completed",
    completed_at: "2030-01-01T00:00:02.000Z",
    summary: "so",
    size: 2,
    usage: { pages: 1 },
  });
  assertEquals([asked, running, done].map(({ line }) => line.event), [
    "enqueued",
    "started",
    "completed",
  ]);
});

Deno.test("a lost attempt counts, and the last one fails the task", () => {
  const again = lost(started(task(), RUNNER, AT), AT);
  assertEquals([again.record.status, again.record.attempts, again.not_before], ["queued", 1, 0]);
  assertEquals([again.record.started_at, again.record.worker], [undefined, undefined]);
  const failed = lost(started(again, RUNNER, AT), AT);
  assertEquals(failed.record.status, "failed");
  assertEquals(failed.record.error, "lost with its worker machine/1, attempt 2 of 2");
  assertEquals(failed.line.event, "failed");
});

Deno.test("an attempt that is given back does not count", () => {
  const back = settled(started(task(), RUNNER, AT), { kind: "returned", reason: "stopped" }, AT);
  assertEquals([back.record.status, back.record.attempts, back.line.event], [
    "queued",
    0,
    "returned",
  ]);
});

Deno.test("a cancelled task says so; its end is never before its beginning", () => {
  const running = started(task(), RUNNER, AT + 5_000);
  const outcome = { kind: "failed", error: "cancelled", cancelled: true } as const;
  const { record, line } = settled(running, outcome, AT);
  assertEquals([record.status, record.cancelled, line.event], ["failed", true, "cancelled"]);
  assertEquals(record.completed_at, record.started_at);
  assertEquals([hasEnded(record), hasEnded(running.record)], [true, false]);
});
