/** Server-sent events of a hired task: `GET /api/task/{id}/events`. */
import type { Context as HonoContext } from "hono";
import type { ServerSentEventMessage } from "@std/http";
import { SvcError } from "../../protocol/errors.ts";
import { FINAL_EVENTS, type TaskLogEntry } from "../tasks/task.ts";
import type { Calling } from "../../verbs/call.ts";
import { callHire, follow } from "./calls.ts";
import { SSE_HEADERS, sseResponse } from "./sse.ts";

/**
 * Streams the steps of a task after `Last-Event-ID` or `?since_seq=` until its end. The last event
 * contains the record.
 *
 * @throws {SvcError} validation, not_found
 */
export async function taskEvents(c: HonoContext, calling: Calling): Promise<Response> {
  const since = c.req.header("last-event-id") || c.req.query("since_seq") || "0";
  if (!/^\d{1,15}$/.test(since)) {
    throw new SvcError("validation", `the last event id must be a seq, got "${since}"`);
  }
  const task_id = c.req.param("id")!;
  // Nothing would read or end the stream of an answer to HEAD.
  if (c.req.method === "HEAD") {
    await callHire("hire.get", { task_id }, calling);
    return new Response(null, { headers: SSE_HEADERS });
  }
  const stop = new AbortController();
  const following = { ...calling, call: stop };
  const entries = await follow(task_id, Number(since), following);
  return sseResponse(toMessages(entries, task_id, following), stop);
}

async function* toMessages(
  entries: AsyncIterable<TaskLogEntry>,
  task_id: string,
  calling: Calling,
): AsyncGenerator<ServerSentEventMessage> {
  for await (const { seq, at, event, detail } of entries) {
    const task = FINAL_EVENTS.has(event)
      ? await callHire("hire.get", { task_id }, calling)
      : undefined;
    const data = JSON.stringify({ task_id, seq, at, type: `task.${event}`, detail, task });
    yield { id: seq, event: `task.${event}`, data };
  }
}
