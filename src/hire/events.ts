/** Server-sent events of a hired task: `GET /api/task/{id}/events`. */
import type { Context as HonoContext } from "hono";
import { ServerSentEventStream } from "@std/http";
import type { ServerSentEventMessage } from "@std/http";
import { BASE_HEADERS } from "../doors/answers.ts";
import { SvcError } from "../platform/errors.ts";
import { FINAL_EVENTS, type TaskLogEntry } from "../tasks/task.ts";
import type { Hiring } from "./hiring.ts";

/** Comment lines that keep proxies and dead-peer detection going, in milliseconds. */
const KEEPALIVE_MS = 15_000;

/**
 * Streams the steps of a task, from `Last-Event-ID` or `?since_seq=` on, and ends with the task. The
 * last event has the record.
 *
 * @throws {SvcError} validation, not_found.
 */
export async function taskEvents(c: HonoContext, hiring: Hiring): Promise<Response> {
  const since = c.req.header("last-event-id") ?? c.req.query("since_seq") ?? "0";
  if (!/^\d{1,15}$/.test(since)) {
    throw new SvcError("validation", `the last event id must be a seq, got "${since}"`);
  }
  const id = c.req.param("id")!;
  const stop = new AbortController();
  const entries = await hiring.follow(id, { since_seq: Number(since), signal: stop.signal });
  const headers = {
    ...BASE_HEADERS,
    "content-type": "text/event-stream",
    "cache-control": "no-store",
  };
  // Nobody would read what an answer to HEAD streams, nor ever end it.
  if (c.req.method === "HEAD") return new Response(null, { headers });
  const iterator = entries[Symbol.asyncIterator]();
  let keepalive: number;
  const messages = new ReadableStream<ServerSentEventMessage>({
    start(controller) {
      keepalive = setInterval(() => {
        if (controller.desiredSize! > 0) controller.enqueue({ comment: "" });
      }, KEEPALIVE_MS);
      controller.enqueue({ comment: "open" });
    },
    async pull(controller) {
      try {
        const { value, done } = await iterator.next();
        if (!done) return controller.enqueue(await toMessage(value, id, hiring));
      } catch {
        // The daemon stops, or the task's log cannot be read: the client asks again.
      }
      clearInterval(keepalive);
      // A client that has gone has closed it.
      if (!stop.signal.aborted) controller.close();
    },
    cancel() {
      clearInterval(keepalive);
      stop.abort();
    },
  }, { highWaterMark: 16 });
  return new Response(messages.pipeThrough(new ServerSentEventStream()), { headers });
}

async function toMessage(
  entry: TaskLogEntry,
  task_id: string,
  hiring: Hiring,
): Promise<ServerSentEventMessage> {
  const { seq, at, event, detail } = entry;
  const task = FINAL_EVENTS.has(event) ? await hiring.get(task_id) : undefined;
  const data = JSON.stringify({ task_id, seq, at, type: `task.${event}`, detail, task });
  return { id: seq, event: `task.${event}`, data };
}
