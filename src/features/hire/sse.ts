/** Answers that are streams of server-sent events. */
import { ServerSentEventStream } from "@std/http";
import type { ServerSentEventMessage } from "@std/http";
import { BASE_HEADERS } from "../../net/answers.ts";

export const SSE_HEADERS = {
  ...BASE_HEADERS,
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Proxies that buffer answers, as nginx does, are to leave this one alone.
  "x-accel-buffering": "no",
};

/** Comment lines that keep proxies and dead-peer detection going, in milliseconds. */
const KEEPALIVE_MS = 15_000;
/** Messages that wait for a client that does not read. */
const WAITING_MAX = 16;

/**
 * Makes an answer of messages, which are asked for no faster than the client reads. When one cannot
 * be made the stream ends: the daemon is stopping, or what it is made from cannot be read, and the client
 * asks again.
 *
 * @param stop is fired when the client has disconnected; `messages` is to end then.
 */
export function sseResponse(
  messages: AsyncIterator<ServerSentEventMessage>,
  stop: AbortController,
): Response {
  let keepalive: number;
  const stream = new ReadableStream<ServerSentEventMessage>({
    start(controller) {
      keepalive = setInterval(() => {
        if (controller.desiredSize! > 0) controller.enqueue({ comment: "" });
      }, KEEPALIVE_MS);
      controller.enqueue({ comment: "open" });
    },
    async pull(controller) {
      try {
        const { value, done } = await messages.next();
        if (!done) return controller.enqueue(value);
      } catch {
        // As said above.
      }
      clearInterval(keepalive);
      // A client that has gone has closed it.
      if (!stop.signal.aborted) controller.close();
    },
    cancel() {
      clearInterval(keepalive);
      stop.abort();
    },
  }, { highWaterMark: WAITING_MAX });
  return new Response(stream.pipeThrough(new ServerSentEventStream()), { headers: SSE_HEADERS });
}
