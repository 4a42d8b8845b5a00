import { assertEquals } from "@std/assert";
import { TaskState } from "@a2a-js/sdk";
import type { TaskLogEntry, TaskRecord } from "../../tasks/task.ts";
import { contextOf, historyOf, toEnd, toTask, toUpdate } from "./task_view.ts";

const RECORD: TaskRecord = {
  id: "t-1",
  status: "completed",
  task_type: "research",
  created_at: "2026-01-01T00:00:00.000Z",
  started_at: "2026-01-01T00:00:01.000Z",
  completed_at: "2026-01-01T00:00:02.000Z",
  attempts: 1,
};
const AT = { base_url: "https://example.org/svc", context_id: "c" };

function artifact(name: string, media_type: string, size: number) {
  return { name, media_type, size, sha256: "00", url: `/api/task/t-1/artifacts/${name}` };
}

Deno.test("states are those of A2A; what was cancelled is told from what failed", async () => {
  const states: [Partial<TaskRecord>, TaskState][] = [
    [{ status: "queued" }, TaskState.TASK_STATE_SUBMITTED],
    [{ status: "running" }, TaskState.TASK_STATE_WORKING],
    [{ status: "completed" }, TaskState.TASK_STATE_COMPLETED],
    [{ status: "failed", error: "e" }, TaskState.TASK_STATE_FAILED],
    [{ status: "failed", error: "cancelled", cancelled: true }, TaskState.TASK_STATE_CANCELED],
  ];
  for (const [members, state] of states) {
    const { status } = await toTask({ ...RECORD, ...members }, AT);
    assertEquals(status!.state, state);
    assertEquals(status!.message?.parts[0].content?.value, members.error);
  }
});

Deno.test("short texts are shown with their task, all else by its address", async () => {
  const opened: string[] = [];
  const open = (name: string) => {
    opened.push(name);
    return Promise.resolve(new Blob([`text of ${name}`]).stream());
  };
  const artifacts = [
    artifact("report.md", "text/markdown", 10),
    artifact("links.json", "application/json", 10),
    artifact("long.txt", "text/plain", 64 * 1024 + 1),
    artifact("page.pdf", "application/pdf", 10),
  ];
  const task = await toTask({ ...RECORD, summary: "s", artifacts }, { ...AT, open });
  assertEquals(task.artifacts.map(({ parts }) => parts[0].content), [
    { $case: "text", value: "s" },
    { $case: "text", value: "text of report.md" },
    { $case: "text", value: "text of links.json" },
    { $case: "url", value: "https://example.org/svc/api/task/t-1/artifacts/long.txt" },
    { $case: "url", value: "https://example.org/svc/api/task/t-1/artifacts/page.pdf" },
  ]);
  assertEquals(opened, ["report.md", "links.json"]);
});

Deno.test("the end comes after everything that was made, with what shows it", async () => {
  const verification = [{ criterion: "c", passed: true, evidence: "e" }];
  const record = { ...RECORD, summary: "s", verification, usage: { sources: 1 } };
  const events = await toEnd(record, AT);
  assertEquals(events.map(({ payload }) => payload!.$case), ["artifactUpdate", "statusUpdate"]);
  const { payload } = events[1];
  assertEquals(payload!.value.metadata, {
    task_type: "research",
    attempts: 1,
    verification,
    usage: { sources: 1 },
  });
});

Deno.test("steps are updates of the status; notes are its message, and the history", () => {
  const step = (seq: number, event: string, detail?: string): TaskLogEntry => {
    return { seq, at: RECORD.created_at, task_id: "t-1", event, detail };
  };
  const stateAfter = (event: string) => {
    const { payload } = toUpdate("t-1", step(1, event), AT) ?? {};
    return payload?.$case === "statusUpdate" ? payload.value.status!.state : undefined;
  };
  assertEquals(["enqueued", "started", "note", "retry", "returned"].map(stateAfter), [
    undefined,
    TaskState.TASK_STATE_WORKING,
    TaskState.TASK_STATE_WORKING,
    TaskState.TASK_STATE_SUBMITTED,
    TaskState.TASK_STATE_SUBMITTED,
  ]);
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "do it" }] };
  const client = { key_id: "k", request_id: "r", context_id: "c", message };
  const notes = Array.from({ length: 150 }, (_, n) => step(n + 2, "note", `note ${n}`));
  const history = historyOf(client, "t-1", [step(1, "started"), ...notes]);
  assertEquals(history.length, 101);
  assertEquals([history[0].messageId, history[0].taskId, history[0].contextId], ["m", "t-1", "c"]);
  assertEquals(history.at(-1)!.parts[0].content?.value, "note 149");
  assertEquals(historyOf({ ...client, message: null }, "t-1", []), []);
  assertEquals(contextOf("t-1", client), "c");
  assertEquals(contextOf("t-1", undefined), "t-1");
});
