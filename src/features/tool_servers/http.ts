/**
 * Requests to a tool server over HTTP, with limits on the size of answers and the rate of requests.
 */
import { delay } from "@std/async";
import { SvcError } from "../../protocol/errors.ts";
import { RESULT_MAX_BYTES, tooLongAnswer } from "./result.ts";

/**
 * The shortest time between two event streams; a server could ask for an endless series of them.
 */
const STREAM_EVERY_MS = 200;

/** The clock of {@linkcode boundedFetch}; tests pass their own. */
export interface FetchTime {
  /** Returns milliseconds from a monotonic clock. */
  now(): number;
  pause(ms: number, options: { signal?: AbortSignal }): Promise<void>;
}

const SYSTEM_TIME: FetchTime = { now: () => performance.now(), pause: delay };

/** Returns the `fetch` for the protocol's client of one server. */
export function boundedFetch(
  { now, pause } = SYSTEM_TIME,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  let next_stream_at = 0;
  return async (url, init = {}) => {
    if (init.method === "GET") {
      const at = now();
      const wait_ms = next_stream_at - at;
      next_stream_at = Math.max(next_stream_at, at) + STREAM_EVERY_MS;
      if (wait_ms > 0) await pause(wait_ms, { signal: init.signal ?? undefined });
    }
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const type = response.headers.get("content-type") ?? "";
    const bound = type.startsWith("text/event-stream")
      ? boundedEvents(requestId(init.body))
      : boundedBody();
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bound), { status, statusText, headers });
  };
}

/** Returns the id of the request in a body. */
function requestId(body: unknown): unknown {
  return typeof body === "string" ? JSON.parse(body).id : undefined;
}

function tooLong(): SvcError {
  return new SvcError("payload_too_large", "its answer is larger than 2 MiB; request less data");
}

function boundedBody(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let length = 0;
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.length;
      if (length > RESULT_MAX_BYTES) controller.error(tooLong());
      else controller.enqueue(chunk);
    },
  });
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Limits each event of a stream. An answer to `id` that is too long is replaced by an error, which
 * ends the stream; without an id the stream fails.
 */
function boundedEvents(
  id: unknown,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let length = 0;
  let at_line_start = false;
  let after_return = false;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of chunk) {
        length++;
        const ends_line = byte === RETURN || byte === NEWLINE;
        const second_half = byte === NEWLINE && after_return;
        after_return = byte === RETURN;
        if (second_half) continue;
        // An empty line ends an event.
        if (ends_line && at_line_start) length = 0;
        at_line_start = ends_line;
      }
      if (length <= RESULT_MAX_BYTES) return controller.enqueue(chunk);
      if (id === undefined) return controller.error(tooLong());
      const data = JSON.stringify(tooLongAnswer(id));
      controller.enqueue(new TextEncoder().encode(`\n\ndata: ${data}\n\n`));
      controller.terminate();
    },
  });
}
