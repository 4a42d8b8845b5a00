/** Responses that are streams of server-sent events. */
import { ServerSentEventStream } from "@std/http";
import type { ServerSentEventMessage } from "@std/http";
import { BASE_HEADERS } from "../../net/answers.ts";

export const SSE_HEADERS = {
  ...BASE_HEADERS,
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Keeps proxies such as nginx from buffering the response.
  "x-accel-buffering": "no",
};

/**
 * Interval of comments against idle timeouts of proxies and dead-peer detection, in milliseconds.
 */
const KEEPALIVE_MS = 15_000;
/** The most messages waiting for a client that does not read. */
const WAITING_MAX = 16;

/** Some clients require the optional space after `data:`. */
function spaced(message: ServerSentEventMessage): ServerSentEventMessage {
  return message.data === undefined ? message : { ...message, data: ` ${message.data}` };
}

/**
 * Streams messages no faster than the client reads. If a message cannot be produced, the stream
 * ends: the daemon is stopping or cannot read its data, and the client connects again.
 *
 * @param stop is aborted when the client has disconnected; `messages` must end then
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
        if (!done) return controller.enqueue(spaced(value));
      } catch {
        // See above.
      }
      clearInterval(keepalive);
      // A disconnected client has already closed it.
      if (!stop.signal.aborted) controller.close();
    },
    cancel() {
      clearInterval(keepalive);
      stop.abort();
    },
  }, { highWaterMark: WAITING_MAX });
  return new Response(stream.pipeThrough(new ServerSentEventStream()), { headers: SSE_HEADERS });
}
