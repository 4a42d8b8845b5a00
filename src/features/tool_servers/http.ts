/** Requests to a tool server over HTTP, with limits on answers and the rate of requests. */
import { delay } from "@std/async";
import { SvcError } from "../../protocol/errors.ts";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import { messagesIn } from "./messages.ts";
import { RESULT_MAX_BYTES, tooLongAnswer } from "./result.ts";

/** The shortest time between two event streams; a server could ask for an endless series. */
const STREAM_EVERY_MS = 200;

export interface FetchTime {
  /** Returns milliseconds from a monotonic clock. */
  now(): number;
  pause(ms: number, options: { signal?: AbortSignal }): Promise<void>;
}

const SYSTEM_TIME: FetchTime = { now: () => performance.now(), pause: delay };

/** Returns the `fetch` for one server. */
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
    const { status, statusText, headers } = response;
    const type = headers.get("content-type") ?? "";
    const asked = requestIn(init.body);
    const body = type.startsWith("text/event-stream")
      ? response.body.pipeThrough(boundedEvents(asked?.id)).pipeThrough(readEvents(asked?.id))
      : response.body.pipeThrough(boundedBody());
    const answered = asked !== undefined && response.ok && type.startsWith("application/json");
    const read = answered ? body.pipeThrough(readBody(asked.id)) : body;
    return new Response(read, { status, statusText, headers });
  };
}

/** Returns the protocol's request in a body, if it is one; a login sends others. */
function requestIn(body: unknown): { id?: unknown } | undefined {
  if (typeof body !== "string") return undefined;
  const message = JSON.parse(body);
  return message.jsonrpc === undefined ? undefined : message;
}

/** Converts a body to messages that the protocol's client can read. */
function readBody(id: unknown): TransformStream<Uint8Array, Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder();
  let text = "";
  return new TransformStream({
    transform: (chunk) => void (text += decoder.decode(chunk, { stream: true })),
    flush(controller) {
      const messages = messagesOf(text + decoder.decode(), id);
      const written = messages === undefined
        ? text
        : JSON.stringify(messages.length === 1 ? messages[0] : messages);
      controller.enqueue(new TextEncoder().encode(written));
    },
  });
}

/** Does so for each event of a stream; everything else stays as it is. */
function readEvents(id: unknown): TransformStream<Uint8Array, Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let event = "";
  let partial = "";
  const end = (controller: TransformStreamDefaultController<Uint8Array<ArrayBuffer>>) => {
    if (event !== "") controller.enqueue(encoder.encode(readEvent(event, id)));
    event = "";
  };
  return new TransformStream({
    transform(chunk, controller) {
      const text = decoder.decode(chunk, { stream: true });
      const ends = /[\r\n]/.test(text) || partial.endsWith("\r");
      partial += text;
      if (!ends) return;
      // The rest of a line break may be in the next chunk.
      const pieces = partial.split(/(\r\n|\r(?!$)|\n)/);
      partial = pieces.pop()!;
      for (let at = 0; at < pieces.length; at += 2) {
        event += pieces[at] + pieces[at + 1];
        if (pieces[at] === "") end(controller);
      }
    },
    flush(controller) {
      event += partial + decoder.decode();
      end(controller);
    },
  });
}

function readEvent(event: string, id: unknown): string {
  const lines = event.split(/\r\n|\r|\n/).filter((line) => line !== "");
  const is_data = (line: string) => line.startsWith("data:");
  const data = lines.filter(is_data).map((line) => line.slice("data:".length)).join("\n");
  const messages = data.trim() === "" ? undefined : messagesOf(data, id);
  if (messages === undefined) return event;
  const others = lines.filter((line) => !is_data(line)).map((line) => `${line}\n`).join("");
  return messages.map((message) => `${others}data: ${JSON.stringify(message)}\n\n`).join("");
}

/** Returns the readable messages in a text, if any. */
function messagesOf(text: string, id: unknown): JSONRPCMessage[] | undefined {
  try {
    const messages = messagesIn(JSON.parse(text), id);
    return messages.length === 0 ? undefined : messages;
  } catch {
    return undefined;
  }
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
 * Limits each event of a stream. An answer to `id` that is too long becomes an error and ends the
 * stream; without an id the stream fails.
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
