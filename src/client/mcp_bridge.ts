/**
 * Carries an MCP client's messages to the daemon and back, a line each. The daemon is the server;
 * when it goes and comes again, the conversation goes on with the new one.
 */
import type * as z from "zod";
import { deadline, delay } from "@std/async";
import { within } from "../base/within.ts";
import { TextLineStream } from "@std/streams";
import { messageOf, SvcError, toSvcError } from "../protocol/errors.ts";
import type { catalogChoiceSchema } from "../protocol/schemas/mcp.ts";
import { LineWriter } from "../base/line_writer.ts";
import type { LocalConn } from "../os/local_socket.ts";
import { McpConversation, type McpMessage } from "./mcp_conversation.ts";

export interface McpBridgeOptions {
  /** What the daemon is told about this client. */
  client: z.input<ReturnType<typeof catalogChoiceSchema>>;
  /** Connects to the running daemon; undefined when none answers. */
  dial(): Promise<LocalConn | undefined>;
  /** Connects to the running daemon, or to one that it starts. */
  dialOrStart(): Promise<LocalConn>;
  /** The client's messages, a line each. */
  input: AsyncIterable<string>;
  output: LineWriter;
  /** Told what a person may want to know. */
  notice(text: string): void;
}

/** Longest line in bytes that a daemon takes (contract.md section 2). */
const LINE_MAX = 8 * 1024 * 1024;
/** How often a daemon that is gone is looked for. */
const RETRY_MS = 250;
/** How long one that is being restarted may take before another is started in its place. */
const RESTART_MS = 6_000;
/** How long a daemon may take to take a conversation up. */
const HANDSHAKE_MS = 10_000;
/** How long what was asked is still answered when the client says no more. */
const LAST_ANSWERS_MS = 30_000;

/** A connection that has turned to MCP. */
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

  /** The next line; undefined when the connection is gone. */
  async next(): Promise<string | undefined> {
    try {
      const { value, done } = await this.#lines.next();
      return done ? undefined : value;
    } catch {
      return undefined;
    }
  }

  /** The answer to what was just asked; undefined when none comes in time. */
  async answer(): Promise<McpMessage | undefined> {
    const line = await deadline(this.next(), HANDSHAKE_MS).catch(() => undefined);
    return line === undefined ? undefined : parse(line);
  }

  close(): void {
    try {
      this.#conn.close();
    } catch {
      // The daemon was faster.
    }
  }
}

/** Runs from the client's first message to its last. */
export class McpBridge {
  readonly #options: McpBridgeOptions;
  readonly #conversation = new McpConversation();
  #link: Link | undefined;
  /** Resolves when there is a link, none can be had, or the last answers come in. */
  #changed = Promise.withResolvers<void>();
  /** Whether a message waits for a link. */
  #wanted = false;
  /** Why no daemon could be had for it. */
  #no_daemon: SvcError | undefined;
  #input_ended = false;
  /** The client says no more, and what it asked is answered. */
  #over = false;

  constructor(options: McpBridgeOptions) {
    this.#options = options;
  }

  /**
   * Carries messages until the client says no more.
   *
   * @throws {SvcError} when there is no daemon to begin with, or one that does not know this.
   */
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

  /** The client says no more: what it still waits for is let through, for a while. */
  async #finish(): Promise<void> {
    const answered = async () => {
      while (this.#conversation.waits) await this.#changed.promise;
    };
    await within(answered(), LAST_ANSWERS_MS);
    this.#over = true;
    this.#link?.close();
  }

  // ── from the daemon ──────────────────────────────────────────────────────────────────────────

  /** Carries messages over a new connection until that is lost. */
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

  /** @returns false when the connection was lost. @throws {SvcError} when the daemon refuses. */
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

  /** Takes the conversation up where the daemon before has left it. */
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

  /** The next daemon's connection; undefined when the client says no more. */
  async #dialAgain(): Promise<LocalConn | undefined> {
    const { dial, dialOrStart, notice } = this.#options;
    const since = performance.now();
    while (!this.#over) {
      const conn = await dial();
      if (conn !== undefined) return conn;
      // Nobody wants it: one that was stopped on purpose stays so.
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

  /** Answers all that waits with an error: there is no daemon to be had. */
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

/** Told to the client when a new daemon has taken over. */
const RECONNECTED = {
  level: "warning",
  logger: "svc",
  data: {
    event: "daemon.reconnected",
    hint: "subscriptions made with tools have ended; subscribe again with since_seq",
  },
};

function isTooLong(line: string): boolean {
  // One UTF-16 unit takes three bytes of UTF-8 at most.
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
