/** Server-sent events of a session: `GET /v1/sessions/{id}/events`. */
import type { Context as HonoContext } from "hono";
import { ServerSentEventStream } from "@std/http";
import type { ServerSentEventMessage } from "@std/http";
import { SvcError } from "../protocol/errors.ts";
import type { Deltas, Subscription } from "../session/subscription.ts";
import type { Hub } from "../session/hub.ts";

/**
 * The interval of comment lines, which keep proxies and dead-peer detection satisfied, in
 * milliseconds.
 */
const KEEPALIVE_MS = 15_000;
const DELTAS: readonly Deltas[] = ["session", "lane", "both"];

/**
 * Streams a session's events after `Last-Event-ID` or `?since_seq=`.
 *
 * @throws {SvcError} validation, not_found
 */
export async function sessionEvents(
  c: HonoContext,
  hub: Hub,
  headers: Record<string, string>,
): Promise<Response> {
  // An empty one is that of a client that has seen no event.
  const since = c.req.header("last-event-id") || c.req.query("since_seq");
  if (since !== undefined && !/^\d+$/.test(since)) {
    throw new SvcError(
      "validation",
      `the last event id must be a seq, got ${JSON.stringify(since)}`,
    );
  }
  const deltas = c.req.query("deltas");
  if (deltas !== undefined && !isDeltas(deltas)) {
    throw new SvcError("validation", `deltas must be one of ${DELTAS.join(", ")}, got "${deltas}"`);
  }
  const session = await hub.get(c.req.param("session_id")!);
  const since_seq = since === undefined ? undefined : Number(since);
  const all = { ...headers, "content-type": "text/event-stream", "cache-control": "no-store" };
  // Nothing would read or end the stream of an answer to HEAD.
  if (c.req.method === "HEAD") return new Response(null, { headers: all });
  let ready: (() => void) | undefined;
  let subscription: Subscription;
  let keepalive: number;
  const messages = new ReadableStream<ServerSentEventMessage>({
    start(controller) {
      subscription = session.subscribe({
        deliver(event) {
          controller.enqueue({ id: event.seq, event: event.type, data: eventJson(event) });
          if (controller.desiredSize! > 0) return;
          return new Promise((resolve) => ready = resolve);
        },
        ended(error) {
          clearInterval(keepalive);
          if (error) {
            const { code, message, details } = error;
            const data = JSON.stringify({ error: { code, message, details } });
            controller.enqueue({ event: "error", data });
          }
          controller.close();
        },
      }, { since_seq, deltas });
      keepalive = setInterval(() => {
        if (controller.desiredSize! > 0) controller.enqueue({ comment: "" });
      }, KEEPALIVE_MS);
      controller.enqueue({ comment: "open" });
      subscription.start();
    },
    pull() {
      ready?.();
      ready = undefined;
    },
    cancel() {
      clearInterval(keepalive);
      subscription.close();
    },
  }, { highWaterMark: 64 });
  return new Response(messages.pipeThrough(new ServerSentEventStream()), { headers: all });
}

function isDeltas(value: string): value is Deltas {
  return (DELTAS as readonly string[]).includes(value);
}

function eventJson(event: {
  seq: number;
  at: string;
  type: string;
  session_id: string;
  data_json: string;
}): string {
  const { session_id, seq, at, type, data_json } = event;
  return `{"session_id":"${session_id}","seq":${seq},"at":"${at}","type":"${type}","data":${data_json}}`;
}
