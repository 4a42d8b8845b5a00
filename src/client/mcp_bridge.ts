/** Carries MCP messages between a client and the daemon, and on to a new daemon after a restart. */
import type * as z from "zod";
import { deadline, delay } from "@std/async";
import { within } from "../base/within.ts";
import { TextLineStream } from "@std/streams";
import { messageOf, SvcError, toSvcError } from "../protocol/errors.ts";
import type { catalogChoiceSchema } from "../protocol/schemas/mcp.ts";
import { LineWriter } from "../base/line_writer.ts";
import type { LocalConn } from "../os/local_socket.ts";
import { McpConversation, type McpMessage } from "./mcp_conversation.ts";

interface McpBridgeOptions {
  /** The client's options for the daemon. */
  client: z.input<ReturnType<typeof catalogChoiceSchema>>;
  /** Connects to the running daemon, if any. */
  dial(): Promise<LocalConn | undefined>;
  /** Connects to the running daemon, or starts one. */
  dialOrStart(): Promise<LocalConn>;
  /** One message per line. */
  input: AsyncIterable<string>;
  output: LineWriter;
  /** Called with information for a person. */
  notice(text: string): void;
}

/** Longest line that a daemon takes, bytes (contract.md section 2). */
const LINE_MAX = 8 * 1024 * 1024;
/** Interval of looking for a daemon that is gone. */
const RETRY_MS = 250;
/** Time for a restart before another daemon is started. */
const RESTART_MS = 6_000;
/** Time for a daemon to resume a conversation. */
const HANDSHAKE_MS = 10_000;
/** Time for last answers after the client's input has ended. */
const LAST_ANSWERS_MS = 30_000;

/** A connection in MCP mode. */
class Link {
  readonly writer: LineWriter;
  readonly #conn: LocalConn;
  readonly #lines: AsyncIterator<string>;

  constructor(conn: LocalConn) {
    this.#conn = conn;
    this.writer = new LineWriter(conn, () => this.close());
    const lines = conn.readable.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    this.#lines = lines[Symbol.asyncIterator]();
  }

  /** The next line; undefined when the connection is lost. */
  async next(): Promise<string | undefined> {
    try {
      const { value, done } = await this.#lines.next();
      return done ? undefined : value;
    } catch {
      return undefined;
    }
  }

  /** The next answer; undefined when it is late. */
  async answer(): Promise<McpMessage | undefined> {
    const line = await deadline(this.next(), HANDSHAKE_MS).catch(() => undefined);
    return line === undefined ? undefined : parse(line);
  }

  close(): void {
    try {
      this.#conn.close();
    } catch {
      // The daemon closed it first.
    }
  }
}

export class McpBridge {
  readonly #options: McpBridgeOptions;
  readonly #conversation = new McpConversation();
  #link: Link | undefined;
  /** Resolves when the link, the daemon's availability or pending answers change. */
  #changed = Promise.withResolvers<void>();
  #wanted = false;
  /** Why no daemon is available. */
  #no_daemon: SvcError | undefined;
  #input_ended = false;
  /** Whether the client's input has ended and is answered. */
  #over = false;

  constructor(options: McpBridgeOptions) {
    this.#options = options;
  }

  /** Runs until the client's input ends. @throws {SvcError} without a daemon, or if it lacks MCP */
  async run(): Promise<void> {
    let conn: LocalConn | undefined = await this.#options.dialOrStart();
    const reading = this.#readInput();
    for (; conn !== undefined; conn = await this.#dialAgain()) {
      await this.#carry(new Link(conn));
      if (this.#over) break;
      this.#options.notice("the daemon has stopped; waiting for it to return");
    }
    await reading;
    await this.#options.output.idle();
  }

  // ── from the client ──────────────────────────────────────────────────────────────────────────

  async #readInput(): Promise<void> {
    try {
      for await (const line of this.#options.input) {
        if (line.trim() !== "") await this.#forward(line);
      }
    } finally {
      this.#input_ended = true;
      await this.#finish();
    }
  }

  async #forward(line: string): Promise<void> {
    const message = parse(line);
    if (message === undefined) {
      return await this.#refuse(null, -32700, "the message is not valid JSON");
    }
    if (isTooLong(line)) {
      return await this.#refuse(message.id ?? null, -32600, "the message is longer than 8 MiB");
    }
    this.#no_daemon = undefined;
    while (this.#link === undefined && this.#no_daemon === undefined) {
      this.#wanted = true;
      await this.#changed.promise;
    }
    this.#wanted = false;
    this.#conversation.sent(message, line);
    if (this.#link === undefined) await this.#failAll(this.#no_daemon!);
    else await this.#link.writer.write(line);
  }

  async #refuse(id: McpMessage["id"], code: number, message: string): Promise<void> {
    const error = { code, message };
    await this.#options.output.write(JSON.stringify({ jsonrpc: "2.0", id, error }));
  }

  /** After the input has ended, waits for pending answers for a while. */
  async #finish(): Promise<void> {
    const answered = async () => {
      while (this.#conversation.waits) await this.#changed.promise;
    };
    await within(answered(), LAST_ANSWERS_MS);
    this.#over = true;
    this.#link?.close();
  }

  // ── from the daemon ──────────────────────────────────────────────────────────────────────────

  /** Carries messages over a connection until it is lost. */
  async #carry(link: Link): Promise<void> {
    const { output } = this.#options;
    try {
      if (!await this.#turnToMcp(link)) return;
      if (!await this.#takeUp(link) || this.#over) return;
      this.#link = link;
      this.#wake();
      for (let line; (line = await link.next()) !== undefined;) {
        const message = parse(line) ?? {};
        this.#conversation.answered(message);
        if (!this.#conversation.isOwn(message)) await output.write(line);
        if (this.#input_ended) this.#wake();
      }
    } finally {
      this.#link = undefined;
      link.close();
    }
  }

  /** @returns false when the connection was lost. @throws {SvcError} when the daemon refuses */
  async #turnToMcp(link: Link): Promise<boolean> {
    const { client: params } = this.#options;
    link.writer.write(JSON.stringify({ jsonrpc: "2.0", id: 0, method: "$/mcp", params }));
    const answer = await link.answer();
    if (answer?.error === undefined) return answer !== undefined;
    const { message } = answer.error as { message: string };
    throw new SvcError("not_implemented", `the daemon does not serve MCP: ${message}`, {
      hint: "it may be older than this command; try `svc serve restart`",
    });
  }

  /** Resumes the conversation with a new daemon. */
  async #takeUp(link: Link): Promise<boolean> {
    const { output } = this.#options;
    const conversation = this.#conversation;
    const { again, answers } = conversation.takeUnanswered();
    for (const answer of answers) await output.write(answer);
    const [initialize, ...rest] = conversation.replay();
    if (initialize !== undefined) {
      link.writer.write(text(initialize));
      const answer = await link.answer();
      if (answer === undefined) return false;
      const other_version = conversation.resumed(answer);
      for (const message of rest) link.writer.write(text(message));
      if (other_version) await output.write(text({ method: "notifications/tools/list_changed" }));
      for (const uri of conversation.watched) {
        await output.write(text({ method: "notifications/resources/updated", params: { uri } }));
      }
      if (conversation.hears_warnings) {
        await output.write(text({ method: "notifications/message", params: RECONNECTED }));
      }
    }
    for (const line of again) link.writer.write(line);
    return true;
  }

  // ── between two daemons ──────────────────────────────────────────────────────────────────────

  /** Connects to the next daemon; undefined when the client is done. */
  async #dialAgain(): Promise<LocalConn | undefined> {
    const { dial, dialOrStart, notice } = this.#options;
    const since = performance.now();
    while (!this.#over) {
      const conn = await dial();
      if (conn !== undefined) return conn;
      // A daemon that was stopped on purpose is not restarted without need.
      const needed = this.#wanted || this.#conversation.waits;
      if (needed && performance.now() - since > RESTART_MS) {
        try {
          return await dialOrStart();
        } catch (error) {
          notice(messageOf(error));
          this.#no_daemon = toSvcError(error);
          await this.#failAll(this.#no_daemon);
          this.#wake();
        }
      }
      await delay(RETRY_MS);
    }
  }

  /** Answers all pending requests with an error. */
  async #failAll({ code: svc_code, message }: SvcError): Promise<void> {
    for (const line of this.#conversation.failAll({ svc_code, message })) {
      await this.#options.output.write(line);
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Tells the client about a new daemon. */
const RECONNECTED = {
  level: "warning",
  logger: "svc",
  data: {
    event: "daemon.reconnected",
    hint: "subscriptions made with tools have ended; subscribe again with since_seq",
  },
};

function isTooLong(line: string): boolean {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (line.length * 3 <= LINE_MAX) return false;
  return new TextEncoder().encode(line).length > LINE_MAX;
}

function text(message: McpMessage): string {
  return JSON.stringify({ jsonrpc: "2.0", ...message });
}

function parse(line: string): McpMessage | undefined {
  try {
    const message = JSON.parse(line);
    return typeof message === "object" && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}
