/**
 * Answers that differ from the format: with another type, in one piece, or no answer at all. A
 * reader for each wire format converts their events.
 */
import { EventSourceParserStream } from "eventsource-parser/stream";
import type { SentReasoning } from "./chat_reasoning.ts";
import { isObject, type Json, parsed } from "./loose_json.ts";
import { ModelError } from "./model.ts";
import type { ProviderContext } from "./provider_errors.ts";

/** One request and its answer, beside what the provider package knows. */
export interface Exchange {
  /** The reasoning of the conversation's answers, oldest first. */
  given: readonly (SentReasoning | undefined)[];
  /** Whether the server refuses calls without reasoning. */
  required: boolean;
  /** The reasoning of the answer so far. */
  sent?: () => SentReasoning | undefined;
  /** Short descriptions of unusable parts of the answer. */
  lost: string[];
  /** Whether the last answer had no end. */
  open_end: { before: boolean; now: boolean };
}

/** Reads one answer of a wire format. */
export interface AnswerReader {
  /** Takes the data of an event. @returns the data of the events that it stands for */
  take(data: string): string[];
  /** Takes an answer that is not streamed. @returns the events that it would have been */
  whole(answer: Json): string[];
  /** Takes the end of the stream. @returns the events that are missing before it */
  end(): string[];
}

/** Wraps a `fetch` so that its answers are in the exact format. @param read begins to read one */
export function exactFetch(
  fetch: typeof globalThis.fetch,
  context: ProviderContext,
  read: () => AnswerReader,
): typeof globalThis.fetch {
  return async (input, init) => await exactly(await fetch(input, init), read(), context);
}

/** Returns an answer in the exact format of its events. @throws {ModelError} for a web page */
export async function exactly(
  response: Response,
  reader: AnswerReader,
  context: ProviderContext,
): Promise<Response> {
  if (!response.ok || response.body === null) return response;
  const [start, body] = await begun(response.body);
  if (start === "<") throw await pageError(body, context);
  // Some servers do not stream, or label the stream with another type.
  const whole = start === "{" || start === "[";
  const stream = whole ? await ofWhole(body, response, reader) : events(body, reader);
  return stream instanceof Response ? stream : new Response(stream, {
    status: response.status,
    headers: { ...Object.fromEntries(response.headers), "content-type": "text/event-stream" },
  });
}

/** Reads until the first visible character. @returns it, and the whole body */
async function begun(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<[string, ReadableStream<Uint8Array<ArrayBuffer>>]> {
  const reader = body.getReader();
  const read: Uint8Array<ArrayBuffer>[] = [];
  let start = "";
  while (start === "") {
    const { done, value } = await reader.read();
    if (done) break;
    read.push(value);
    start = new TextDecoder().decode(value).replace("\ufeff", "").trimStart().slice(0, 1);
  }
  const rest = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const next = read.shift();
      if (next !== undefined) return controller.enqueue(next);
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return [start, rest];
}

function events(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  reader: AnswerReader,
): ReadableStream<Uint8Array> {
  return body.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .pipeThrough(
      new TransformStream<{ data: string }, string>({
        transform({ data }, controller) {
          // An empty event only keeps the connection open.
          if (data.trim() === "") return;
          for (const event of reader.take(data)) controller.enqueue(eventText(event));
        },
        flush(controller) {
          for (const event of reader.end()) controller.enqueue(eventText(event));
        },
      }),
    )
    .pipeThrough(new TextEncoderStream());
}

function eventText(data: string): string {
  return `data: ${data}\n\n`;
}

/** Converts an answer that is not streamed, or that lists its events (Google), to a stream. */
async function ofWhole(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  response: Response,
  reader: AnswerReader,
): Promise<ReadableStream<Uint8Array> | Response> {
  const text = await new Response(body).text();
  const listed = text.trimStart().startsWith("[") ? parsed(`{"list":${text}}`)?.list : undefined;
  const all = Array.isArray(listed) ? listed.filter(isObject) : [parsed(text)];
  const failed = all.find((it) => it?.error !== undefined && it.error !== null);
  if (failed !== undefined) {
    // Reported like any other answer that is an error.
    const { error } = failed;
    return new Response(text, { status: statusOf(error), headers: response.headers });
  }
  const lines = listed !== undefined
    ? [...all.flatMap((it) => reader.take(JSON.stringify(it))), ...reader.end()]
    : all[0] === undefined
    // Malformed JSON, which the reader of the answer reports.
    ? [text.replaceAll("\n", " ")]
    : reader.whole(all[0]);
  return new Response(lines.map(eventText).join("")).body!;
}

/** The status of an error that came with 200. */
function statusOf(error: unknown): number {
  const { code, status, type } = isObject(error) ? error : {};
  const number = [code, status].map(Number).find((it) => it >= 400 && it <= 599);
  if (number !== undefined) return number;
  if (/rate_limit|usage_limit|quota|exhausted/i.test(`${code} ${status} ${type}`)) return 429;
  return /invalid|auth|permission|not_found|context_length/i.test(`${code} ${type}`) ? 400 : 502;
}

async function pageError(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { name, base_url }: ProviderContext,
): Promise<ModelError> {
  const page = await new Response(body).text();
  const title = /<title[^>]*>([^<]{1,100})/i.exec(page)?.[1].replace(/\s+/g, " ").trim();
  const about = title ? ` ("${title}")` : "";
  return new ModelError(
    `${name} answered with a web page${about}, not with an answer. Check that base_url ` +
      `(${base_url}) is right and that no login stands before it`,
    { retryable: false },
  );
}
