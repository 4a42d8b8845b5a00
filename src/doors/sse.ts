/** Server-sent events: `GET /v1/sessions/{id}/events`. */
import type { Context as HonoContext } from "hono";
import { ServerSentEventStream } from "@std/http";
import type { ServerSentEventMessage } from "@std/http";
import { BASE_HEADERS } from "../net/answers.ts";
import { SvcError } from "../protocol/errors.ts";
import type { Pushed } from "../verbs/define.ts";
import { Subscriptions } from "../verbs/subscriptions.ts";
import { type Calling, runVerb } from "./call.ts";

/** Milliseconds between comment lines, which keep proxies and dead-peer detection satisfied. */
const KEEPALIVE_MS = 15_000;
const HEADERS = {
  ...BASE_HEADERS,
  "content-type": "text/event-stream",
  "cache-control": "no-store",
};

/** Streams a session's events after `Last-Event-ID` or `?since_seq=`. @throws {SvcError} */
export async function sessionEvents(c: HonoContext, calling: Calling): Promise<Response> {
  // It is empty if the client has seen no event.
  const since = c.req.header("last-event-id") || c.req.query("since_seq");
  if (since !== undefined && !/^\d+$/.test(since)) {
    throw new SvcError(
      "validation",
      `the last event id must be a seq, got ${JSON.stringify(since)}`,
    );
  }
  let controller: ReadableStreamDefaultController<ServerSentEventMessage>;
  let ready: (() => void) | undefined;
  let keepalive: number;
  const subscriptions = new Subscriptions({
    event(_sub, event) {
      controller.enqueue({ id: event.seq, event: event.type, data: eventJson(event) });
      if (controller.desiredSize! > 0) return;
      return new Promise((resolve) => ready = resolve);
    },
    ended(_sub, error) {
      clearInterval(keepalive);
      if (error) {
        const { code, message, details } = error;
        const data = JSON.stringify({ error: { code, message, details } });
        controller.enqueue({ event: "error", data });
      }
      controller.close();
    },
  });
  const push = subscriptions.channel();
  const asked = {
    session_id: c.req.param("session_id"),
    since_seq: since === undefined ? undefined : Number(since),
    deltas: c.req.query("deltas"),
  };
  const caller = { ...calling.caller, push };
  await runVerb("session.subscribe", asked, { ...calling, caller });
  // An answer to HEAD has no stream.
  if (c.req.method === "HEAD") {
    subscriptions.close();
    return new Response(null, { headers: HEADERS });
  }
  const messages = new ReadableStream<ServerSentEventMessage>({
    start(its) {
      controller = its;
      keepalive = setInterval(() => {
        if (controller.desiredSize! > 0) controller.enqueue({ comment: "" });
      }, KEEPALIVE_MS);
      controller.enqueue({ comment: "open" });
      push.start();
    },
    pull() {
      ready?.();
      ready = undefined;
    },
    cancel() {
      clearInterval(keepalive);
      subscriptions.close();
    },
  }, { highWaterMark: 64 });
  return new Response(messages.pipeThrough(new ServerSentEventStream()), { headers: HEADERS });
}

function eventJson({ session_id, seq, at, type, data_json }: Pushed): string {
  return `{"session_id":"${session_id}","seq":${seq},"at":"${at}","type":"${type}","data":${data_json}}`;
}
