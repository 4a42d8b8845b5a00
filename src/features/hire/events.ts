/** Server-sent events of a hired task: `GET /api/task/{id}/events`. */
import type { Context as HonoContext } from "hono";
import type { ServerSentEventMessage } from "@std/http";
import { SvcError } from "../../protocol/errors.ts";
import { FINAL_EVENTS, type TaskLogEntry } from "../tasks/task.ts";
import type { Hirer, Hiring } from "./hiring.ts";
import { SSE_HEADERS, sseResponse } from "./sse.ts";

/**
 * Streams the steps of a task after `Last-Event-ID` or `?since_seq=`, and ends with the task. The
 * last event contains the record.
 *
 * @throws {SvcError} validation, not_found
 */
export async function taskEvents(
  c: HonoContext,
  hiring: Hiring,
  asker: Hirer,
): Promise<Response> {
  const since = c.req.header("last-event-id") || c.req.query("since_seq") || "0";
  if (!/^\d{1,15}$/.test(since)) {
    throw new SvcError("validation", `the last event id must be a seq, got "${since}"`);
  }
  const id = c.req.param("id")!;
  const stop = new AbortController();
  const entries = await hiring.follow(id, asker, {
    since_seq: Number(since),
    signal: stop.signal,
  });
  // Nothing would read or end the stream of an answer to HEAD.
  if (c.req.method === "HEAD") return new Response(null, { headers: SSE_HEADERS });
  return sseResponse(toMessages(entries, id, hiring, asker), stop);
}

async function* toMessages(
  entries: AsyncIterable<TaskLogEntry>,
  task_id: string,
  hiring: Hiring,
  asker: Hirer,
): AsyncGenerator<ServerSentEventMessage> {
  for await (const { seq, at, event, detail } of entries) {
    const task = FINAL_EVENTS.has(event) ? await hiring.get(task_id, asker) : undefined;
    const data = JSON.stringify({ task_id, seq, at, type: `task.${event}`, detail, task });
    yield { id: seq, event: `task.${event}`, data };
  }
}
