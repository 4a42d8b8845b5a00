import { assertEquals } from "@std/assert";
import { queued, stepped, type StoredTask } from "./transitions.ts";

const AT = Date.UTC(2030, 0, 1);

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

function started(task: StoredTask, now = AT): StoredTask {
  return stepped(task, { kind: "started", worker: "machine/1" }, now, "p")!;
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
  const running = started(asked, AT + 1_000);
  assertEquals([running.record.status, running.record.attempts], ["running", 1]);
  assertEquals([running.record.worker, running.process], ["machine/1", "p"]);
  const extras = JSON.stringify({ usage: { pages: 1 } });
  const completed = { kind: "completed", summary: "so", size: 2, extras } as const;
  const done = stepped(running, completed, AT + 2_000)!;
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
  const again = stepped(started(task()), { kind: "lost" }, AT)!;
  assertEquals([again.record.status, again.record.attempts, again.not_before], ["queued", 1, 0]);
  assertEquals([again.record.started_at, again.record.worker], [undefined, undefined]);
  const failed = stepped(started(again), { kind: "lost" }, AT)!;
  assertEquals(failed.record.status, "failed");
  assertEquals(failed.record.error, "lost with its worker machine/1, attempt 2 of 2");
  assertEquals(failed.line.event, "failed");
});
