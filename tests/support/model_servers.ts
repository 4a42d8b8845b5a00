/**
 * Model providers on loopback: real HTTP servers that speak the public wire formats, check
 * requests as the real ones do, and answer what a script says.
 */

import type { Message } from "../../src/models/model.ts";
import { anthropicWire } from "./model_wire_anthropic.ts";
import { googleWire } from "./model_wire_google.ts";
import { openAiWire } from "./model_wire_openai.ts";
import { responsesWire } from "./model_wire_responses.ts";

// deno-lint-ignore no-explicit-any -- what arrives is checked field by field
export type Json = any;

/** A request that passed the checks, in the form that scripts decide on. */
export interface ParsedRequest {
  model: string;
  system: string;
  /** The conversation, the same for every wire format. */
  messages: Message[];
  /** The names of the offered tools, in their order. */
  tools: string[];
  headers: Headers;
  /** The body as it was sent. */
  body: Json;
}

/** A tool call of an {@linkcode Answer}. */
export interface ScriptedCall {
  /** Default: one that the server makes up. */
  id?: string;
  name: string;
  /** A string is sent as it is, so that it can be no JSON. */
  args: unknown;
  /** Google's `thoughtSignature`, which must come back with the call. */
  signature?: string;
}

/** What the server does with one request. The first of these that is there counts. */
export interface Answer {
  /** An HTTP error instead of an answer. */
  status?: { code: number; message?: string; type?: string; headers?: Record<string, string> };
  /** This many text deltas, encoded once for all requests; costs the server next to nothing. */
  instant?: number;
  /** Reasoning before the text; in Anthropic's format only where a request asks for thinking. */
  reasoning?: string[];
  /** Streamed in pieces of a few characters, or in these pieces. */
  text?: string | string[];
  /** Asked for after the text; their arguments are split in the middle of tokens. */
  calls?: ScriptedCall[];

  /** Default: "stop", or "calls" where there are some. */
  stop?: "stop" | "length" | "filter" | "refusal";
  usage?: { input?: number; output?: number; cached?: number };
  /** Between two deltas, on average: after a timer that was late the next ones come sooner. */
  pace_ms?: number;
  /** Drops the connection after so many deltas. */
  cut_after?: number;
  /** Ends the answer properly at the HTTP level, but after so many deltas. */
  end_after?: number;
  /** Says nothing more after so many deltas, and keeps the connection. */
  hang_after?: number;
  /** Ends that silence. */
  go_on?: Promise<unknown>;
  /** An error event in the stream, after so many deltas. */
  fail?: { after: number; type: string; message: string; code?: number };
  /** An event with this data between the others, after so many deltas. */
  stray?: { after: number; data: string };
}

/** Decides the answer to each request. */
export interface Scripted {
  (request: ParsedRequest): Answer | Promise<Answer>;
}

/** A request as it came, whether it was answered or refused. */
export interface CapturedRequest {
  path: string;
  headers: Headers;
  body: Json;
  /** The status that was answered. */
  status: number;
  /** How the answer's stream ended. */
  ended: Promise<"whole" | "cut" | "closed by client">;
}

/** Settings of a server. */
export interface ServerOptions {
  /** The only key that is accepted; default: any. */
  api_key?: string;
  /** Answer also without a key, as local servers do. */
  open?: boolean;
  /** Default 0: any free port. */
  port?: number;
  /** Whether requests are kept; default true. */
  capture?: boolean;
}

/** A running server. */
export interface ModelServer {
  /** What belongs into `base_url`. */
  url: string;
  requests: CapturedRequest[];
  close(): Promise<void>;
}

/** An answer's stream in one wire format: what precedes the deltas, the deltas, the end. */
export interface Rendered {
  head: string;
  deltas: string[];
  tail: string;
}

/** A refusal as the real server words it. */
export interface Refusal {
  status: number;
  body: Json;
}

/** One wire format. */
export interface Wire {
  /** The path of the base URL. */
  base: string;
  /** Which paths start a model's answer. */
  answers: (path: string) => boolean;
  /** Other paths. */
  other?: (path: string) => Json | undefined;
  /** The key that a request carries. */
  key: (headers: Headers) => string | undefined;
  noKey: () => Refusal;
  wrongKey: (key: string) => Refusal;
  /** What is wrong with a request. */
  check: (body: Json, headers: Headers) => Refusal | undefined;
  parse: (body: Json, path: string) => Omit<ParsedRequest, "headers" | "body">;
  render: (answer: Answer, body: Json, instant: boolean) => Rendered;
  failure: (fail: NonNullable<Answer["fail"]>) => string;
  status: (code: number, message?: string, type?: string) => Json;
}

/** OpenAI's chat completions: `POST /v1/chat/completions`, `GET /v1/models`. */
export function startOpenAiServer(script: Scripted, options: ServerOptions = {}): ModelServer {
  return start(openAiWire(), script, options);
}

/** OpenAI's responses: `POST /v1/responses`, `GET /v1/models`. */
export function startResponsesServer(script: Scripted, options: ServerOptions = {}): ModelServer {
  return start(responsesWire(), script, options);
}

/** Anthropic's messages: `POST /v1/messages`, with a prompt cache over the real prefixes. */
export function startAnthropicServer(script: Scripted, options: ServerOptions = {}): ModelServer {
  return start(anthropicWire(), script, options);
}

/** Gemini: `POST /v1beta/models/<model>:streamGenerateContent?alt=sse`. */
export function startGoogleServer(script: Scripted, options: ServerOptions = {}): ModelServer {
  return start(googleWire(), script, options);
}

/**
 * A script of answers in order. Conversations are told apart by their first user message; a
 * repeated request moves on, so that "429, then text" can be written.
 */
export function scriptSteps(steps: readonly (Answer | Scripted)[]): Scripted {
  const counts = new Map<string, number>();
  return (request) => {
    const first = request.messages.find((message) => message.role === "user");
    const key = first?.role === "user" ? first.text : "";
    const at = counts.get(key) ?? 0;
    counts.set(key, at + 1);
    const step = steps[at];
    if (step === undefined) {
      // Nothing that is tried again: a script that is too short must not take a test's time.
      return { status: { code: 400, message: `the script has ${steps.length} steps, not more` } };
    }
    return typeof step === "function" ? step(request) : step;
  };
}

/** Always so many deltas, as cheaply as the server can. */
export function instantDeltas(count: number, options: { pace_ms?: number } = {}): Scripted {
  const answer: Answer = { instant: count, pace_ms: options.pace_ms };
  return () => answer;
}

/** The pieces in which arguments are streamed: short enough to break every token. */
export function shreds(text: string, size = 5): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces;
}

/** The deltas of an answer's text. */
export function textDeltas(answer: Answer): string[] {
  if (Array.isArray(answer.text)) return answer.text;
  return answer.text === undefined ? [] : shreds(answer.text, 8);
}

/** The arguments of a call as they go over the wire. */
export function argsText(call: ScriptedCall): string {
  return typeof call.args === "string" ? call.args : JSON.stringify(call.args);
}

/**
 * What a person said in a message, without what svc tells before it.
 *
 * @returns undefined when it is svc alone that speaks.
 */
export function saidIn(text: string): string | undefined {
  const said = text.replace(/^(?:<context about="\w+">\n[^]*?\n<\/context>(?:\n\n|$))+/, "");
  return said === "" && text !== "" ? undefined : said;
}

/** Tokens as these servers count them. */
export function tokensOf(text: string): number {
  return Math.ceil(encoder.encode(text).length / 4);
}

const encoder = new TextEncoder();

function start(wire: Wire, script: Scripted, options: ServerOptions): ModelServer {
  const requests: CapturedRequest[] = [];
  const open = new Set<AbortController>();
  const instants = new Map<number, Encoded>();

  const handle = async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname;
    const other = request.method === "GET" ? wire.other?.(path) : undefined;
    if (other !== undefined) {
      const given = wire.key(request.headers);
      const refusal = options.open || options.api_key === undefined || given === options.api_key
        ? undefined
        : given === undefined
        ? wire.noKey()
        : wire.wrongKey(given);
      return Response.json(refusal?.body ?? other, { status: refusal?.status });
    }

    const text = await request.text();
    const ended = Promise.withResolvers<"whole" | "cut" | "closed by client">();
    const captured: CapturedRequest = {
      path,
      headers: request.headers,
      body: undefined,
      status: 200,
      ended: ended.promise,
    };
    if (options.capture !== false) requests.push(captured);
    const refuse = ({ status, body }: Refusal, headers?: Record<string, string>) => {
      captured.status = status;
      ended.resolve("whole");
      return Response.json(body, { status, headers });
    };

    if (request.method !== "POST" || !wire.answers(path)) {
      return refuse({ status: 404, body: wire.status(404, `no such route: ${path}`) });
    }
    const key = wire.key(request.headers);
    if (key === undefined && !options.open) return refuse(wire.noKey());
    if (key !== undefined && options.api_key !== undefined && key !== options.api_key) {
      return refuse(wire.wrongKey(key));
    }
    try {
      captured.body = JSON.parse(text);
    } catch {
      return refuse({ status: 400, body: wire.status(400, "the body is not valid JSON") });
    }
    const refusal = wire.check(captured.body, request.headers);
    if (refusal !== undefined) return refuse(refusal);

    const gone = Promise.withResolvers<undefined>();
    whenAborted(request.signal, () => gone.resolve(undefined));
    const decided = script({
      ...wire.parse(captured.body, path),
      headers: request.headers,
      body: captured.body,
    });
    const answer = await Promise.race([decided, gone.promise]);
    if (answer === undefined) {
      ended.resolve("closed by client");
      return new Response(null, { status: 499 });
    }
    if (answer.status !== undefined) {
      const { code, message, type, headers } = answer.status;
      return refuse({ status: code, body: wire.status(code, message, type) }, headers);
    }

    let encoded: Encoded;
    if (answer.instant !== undefined) {
      encoded = instants.get(answer.instant) ??
        encode(wire.render({ text: Array(answer.instant).fill("word ") }, captured.body, true));
      instants.set(answer.instant, encoded);
      if (!answer.pace_ms) {
        ended.resolve("whole");
        return new Response(encoded.all, { headers: EVENT_STREAM });
      }
    } else {
      encoded = encode(wire.render(answer, captured.body, false));
    }

    const stop = new AbortController();
    open.add(stop);
    const body = play(wire, encoded, answer, stop.signal, (how) => {
      open.delete(stop);
      ended.resolve(how);
    });
    // A client that leaves before the answer's head was sent never cancels its body.
    whenAborted(request.signal, () => {
      ended.resolve("closed by client");
      stop.abort();
    });
    return new Response(body, { headers: EVENT_STREAM });
  };

  const closing = new AbortController();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: options.port ?? 0,
    onListen: () => {},
    signal: closing.signal,
  }, handle);
  return {
    url: `http://127.0.0.1:${server.addr.port}${wire.base}`,
    requests,
    close: async () => {
      for (const stop of open) stop.abort();
      // A graceful shutdown would wait for answers to clients that are gone.
      closing.abort();
      await server.finished;
    },
  };
}

const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8" };

interface Encoded {
  head: Uint8Array<ArrayBuffer>;
  deltas: Uint8Array<ArrayBuffer>[];
  tail: Uint8Array<ArrayBuffer>;
  all: Uint8Array<ArrayBuffer>;
}

function encode({ head, deltas, tail }: Rendered): Encoded {
  return {
    head: encoder.encode(head),
    deltas: deltas.map((delta) => encoder.encode(delta)),
    tail: encoder.encode(tail),
    all: encoder.encode(head + deltas.join("") + tail),
  };
}

/** An answer's body, delta by delta, with whatever the script wants to go wrong. */
function play(
  wire: Wire,
  encoded: Encoded,
  answer: Answer,
  stop: AbortSignal,
  ended: (how: "whole" | "cut" | "closed by client") => void,
): ReadableStream<Uint8Array> {
  const gone = new AbortController();
  const write = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { cut_after, end_after, hang_after, go_on, fail, stray, pace_ms } = answer;
    controller.enqueue(encoded.head);
    const began = performance.now();
    for (let sent = 0; sent <= encoded.deltas.length; sent++) {
      if (sent === hang_after) {
        const over = pause(undefined, gone.signal, stop);
        await (go_on === undefined ? over : Promise.race([over, go_on]));
      }
      const early_ms = began + sent * (pace_ms ?? 0) - performance.now();
      if (early_ms > 0) await pause(early_ms, gone.signal, stop);
      // What was enqueued reaches the socket before the connection is dropped.
      if (sent === cut_after) await pause(10, gone.signal, stop);
      if (gone.signal.aborted) return;
      if (sent === cut_after || stop.aborted) {
        ended("cut");
        return controller.error(new Error("the connection is dropped"));
      }
      if (sent === stray?.after) controller.enqueue(encoder.encode(`data: ${stray.data}\n\n`));
      if (sent === fail?.after) controller.enqueue(encoder.encode(wire.failure(fail)));
      if (sent === fail?.after || sent === end_after) {
        ended("whole");
        return controller.close();
      }
      controller.enqueue(sent < encoded.deltas.length ? encoded.deltas[sent] : encoded.tail);
    }
    ended("whole");
    controller.close();
  };
  return new ReadableStream({
    start: (controller) => void write(controller),
    cancel: () => {
      ended("closed by client");
      gone.abort();
    },
  });
}

/** Calls back when a signal fires, also when it has already. */
function whenAborted(signal: AbortSignal, call: () => void): void {
  if (signal.aborted) call();
  else signal.addEventListener("abort", call, { once: true });
}

/** Resolves after `ms` (never, if undefined) or when one of the signals fires. */
function pause(ms: number | undefined, ...signals: AbortSignal[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signals.some((signal) => signal.aborted)) return Promise.resolve();
  const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
  for (const signal of signals) signal.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
