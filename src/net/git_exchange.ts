/** One request of a command's git, and the server's answer. */
import { deadline } from "@std/async";
import { writeAll } from "../base/write_all.ts";
import type { Destination, Wanted } from "./allowed_hosts.ts";
import { carry } from "./carry.ts";
import { chunkOf, chunksOf, LAST_CHUNK } from "./chunks.ts";
import { EgressRefused } from "./egress.ts";
import { gitAddress, gitHostText } from "./git_hosts.ts";
import type { Credential, Login } from "./git_login.ts";
import { gitHead, type GitRequest, parseGitRequest } from "./git_request.ts";
import { type AnswerHead, headerOf, parseAnswerHead } from "./http_answer.ts";
import type { ProxyRequest } from "./http_head.ts";
import { Incoming } from "./incoming.ts";

/** What a proxy does for a request. */
export interface Line {
  /** Connects over TLS, if that is allowed. @throws {EgressRefused} */
  connect(to: Wanted): Promise<Deno.Conn>;
  close(server: Deno.Conn): void;
  /** Called for each piece. @throws {EgressRefused} when the network was turned off */
  active(): void;
}

interface ExchangeParts {
  client: Incoming;
  request: ProxyRequest;
  /** Path and query. */
  target: string;
  to: Destination;
  git: GitRequest;
  login: Login;
  line: Line;
}

/** A server's answer: its head, and the connection with the rest. */
interface Answer {
  head: AnswerHead;
  server: Incoming;
  /** With which it was asked. */
  credential?: Credential;
}

/** Longer content goes on while it comes, so it cannot be repeated with a credential. */
const REPEATED_MAX = 1024 * 1024;
const ANSWER_HEAD_MAX = 64 * 1024;
/** Of a server's words about an error. */
const WORDS_MAX = 4 * 1024;
const WORDS_MS = 5_000;
const INTERIM_MAX = 10;
const PIECE_BYTES = 16 * 1024;
/** What git needs to know of an answer. */
const KEPT = new Set([
  ...["cache-control", "content-encoding", "content-length", "content-type", "expires"],
  ...["pragma", "transfer-encoding"],
]);
const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");

export class Exchange {
  readonly #parts: ExchangeParts;
  readonly #shown: string;
  #server: Deno.Conn | undefined;
  /** Whether nobody waits for an answer. */
  #left = false;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
    this.#shown = gitHostText(parts.to);
  }

  /** As {@linkcode GitWay.serve}. */
  async run(): Promise<void> {
    const { line, git: { body }, login } = this.#parts;
    const credential = await login.known;
    await this.#connect();
    try {
      const content = await this.#content();
      let answer = await this.#ask(content, credential);
      if (answer.head.status === 401 && credential === undefined && content !== undefined) {
        line.close(this.#server!);
        const filled = await login.fill();
        await this.#connect();
        answer = await this.#ask(content, filled);
      }
      if (answer.head.status === 401 && answer.credential !== undefined) {
        throw await login.rejected(answer.credential);
      }
      if (answer.head.status === 401) {
        throw new EgressRefused(
          `${this.#shown} asks for a credential in the middle of ${body} content: run git again`,
        );
      }
      await this.#pass(answer);
    } finally {
      this.#left = true;
      line.close(this.#server!);
    }
  }

  async #connect(): Promise<void> {
    const { line, to: { host, port }, git: { service, repository } } = this.#parts;
    const push = service === "git-receive-pack" ? { push: repository } : {};
    const server = await line.connect({ host, port, ...push });
    this.#server = server;
    if (!this.#left) return;
    line.close(server);
    throw new Error("the client has left");
  }

  /** Reads short content; undefined for what goes on while it comes. */
  async #content(): Promise<Uint8Array | undefined> {
    const { client, request, git: { body }, line } = this.#parts;
    if (request.headers.some(([name]) => name === "expect")) await writeAll(client, CONTINUE);
    line.active();
    if (body === "chunked" || body > REPEATED_MAX) return undefined;
    const content = new Uint8Array(body);
    for (let done = 0; done < body;) {
      const count = await client.read(content.subarray(done));
      if (count === null) throw new Error("the content was cut off");
      line.active();
      done += count;
    }
    void this.#watch();
    return content;
  }

  /** Notices that the client, which has nothing more to say, has left or is closed. */
  async #watch(): Promise<void> {
    const { client, line } = this.#parts;
    await client.read(new Uint8Array(1)).catch(() => null);
    this.#left = true;
    line.close(this.#server!);
  }

  /** Sends the request, and waits for the head of its answer. */
  async #ask(
    content: Uint8Array | undefined,
    credential: Credential | undefined,
  ): Promise<Answer> {
    const { request, target, git: { body }, line } = this.#parts;
    const conn = this.#server!;
    const authorization = credential?.authorization;
    await writeAll(conn, gitHead(request, { target, host: this.#shown, body, authorization }));
    if (content !== undefined) await writeAll(conn, content);
    else {
      this.#send(conn)
        .then((all) => all ? this.#watch() : undefined)
        .catch(() => line.close(conn));
    }
    const server = new Incoming(conn);
    for (let n = 0; n < INTERIM_MAX; n++) {
      const bytes = await server.head(ANSWER_HEAD_MAX);
      const head = bytes && parseAnswerHead(bytes);
      if (head === undefined || head.status === 101) break;
      line.active();
      if (head.status >= 200) return { head, server, ...(credential && { credential }) };
    }
    throw new EgressRefused(`${this.#shown} did not answer as a web server does`);
  }

  /**
   * Sends content while it comes.
   *
   * @returns false if the server took only a part, as one that has answered already
   * @throws the client's error
   */
  async #send(conn: Deno.Conn): Promise<boolean> {
    const { client, git: { body }, line } = this.#parts;
    const write = (bytes: Uint8Array) => writeAll(conn, bytes).then(() => true, () => false);
    const chunked = body === "chunked";
    for await (const piece of chunked ? chunksOf(client) : piecesOf(client, body)) {
      line.active();
      if (!await write(chunked ? chunkOf(piece) : piece)) return false;
    }
    return !chunked || await write(LAST_CHUNK);
  }

  /** Passes an answer on. @throws {EgressRefused} for one that git must not get */
  async #pass(answer: Answer): Promise<void> {
    const { head, credential } = answer;
    const { status } = head;
    if (status >= 300 && status < 400) return await this.#redirect(answer);
    if (status >= 400) return await this.#fail(answer);
    const { git: { service }, request: { method }, login } = this.#parts;
    const type = headerOf(head, "content-type")?.split(";", 1)[0].trim().toLowerCase();
    const kind = method === "GET" ? "advertisement" : "result";
    if (type !== `application/x-${service}-${kind}`) {
      throw new EgressRefused(
        `${this.#shown} answered as no git server does (${status}, content-type ${
          JSON.stringify(type ?? "")
        })`,
      );
    }
    if (credential !== undefined) await login.accepted(credential);
    const { headers } = head;
    const chunked = headers.some(([name]) => name === "transfer-encoding");
    await this.#answer(
      `${status} OK`,
      headers.filter(([name]) => KEPT.has(name) && !(chunked && name === "content-length")),
    );
    await this.#rest(answer.server);
  }

  /**
   * Never rejects: git would take an error for the server's content. A server may keep its connection
   * open after that; the client then leaves.
   */
  async #rest(server: Incoming): Promise<void> {
    const { client, line } = this.#parts;
    try {
      await carry(server, client.conn, line.active);
    } catch {
      // One side has disconnected.
    }
  }

  /** Leads git to where a repository has moved on the same host, where everything is asked anew. */
  async #redirect({ head, credential }: Answer): Promise<void> {
    const { request, target, to, git: { service } } = this.#parts;
    const base = `https://${this.#shown}${target}`;
    const url = URL.parse(headerOf(head, "location") ?? "", base);
    const shown = url === null || credential?.isIn(url.href) ? "elsewhere" : `to ${url.href}`;
    const moved = url?.origin === new URL(base).origin && request.method === "GET"
      ? parseGitRequest(request, url.pathname + url.search)
      : "";
    if (url === null || typeof moved === "string" || moved.service !== service) {
      throw new EgressRefused(`${this.#shown} leads git ${shown}, where svc does not follow`);
    }
    const location = gitAddress(to) + url.pathname.slice(1) + url.search;
    await this.#answer(`${head.status} Moved`, [["location", location], ["content-length", "0"]]);
  }

  /** Passes an error on, with the words of the server. */
  async #fail({ head, server, credential }: Answer): Promise<void> {
    // Otherwise git would ask for a login to svc's proxy.
    const status = head.status === 407 ? 403 : head.status;
    const words = await this.#words(head, server);
    const text = credential?.isIn(words) ? "" : words;
    const bytes = new TextEncoder().encode(text);
    await this.#answer(`${status} Refused by ${this.#shown}`, [
      ["content-type", "text/plain; charset=utf-8"],
      ["content-length", String(bytes.length)],
    ]);
    await writeAll(this.#parts.client, bytes);
  }

  /** Plain text of an error; empty without one. */
  async #words(head: AnswerHead, server: Incoming): Promise<string> {
    const type = headerOf(head, "content-type") ?? "";
    if (!/^text\/plain\b/i.test(type)) return "";
    const length = Number(headerOf(head, "content-length") ?? WORDS_MAX);
    const chunked = headerOf(head, "transfer-encoding") !== undefined;
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    const read = async () => {
      for await (const piece of chunked ? chunksOf(server) : piecesOf(server, length)) {
        if (keep(piece)) return;
      }
    };
    let size = 0;
    const keep = (piece: Uint8Array<ArrayBuffer>) => {
      pieces.push(piece.slice());
      size += piece.length;
      return size >= Math.min(length, WORDS_MAX);
    };
    // What has come is better than nothing.
    await deadline(read(), WORDS_MS).catch(() => {});
    const zipped = headerOf(head, "content-encoding") === "gzip";
    const all = new Blob(pieces).stream();
    const plain = zipped ? all.pipeThrough(new DecompressionStream("gzip")) : all;
    return (await new Response(plain).text().catch(() => "")).slice(0, WORDS_MAX);
  }

  async #answer(
    status: string,
    headers: readonly (readonly [name: string, value: string])[],
  ): Promise<void> {
    const lines = [...headers, ["connection", "close"]].map(([name, value]) => `${name}: ${value}`);
    const text = `HTTP/1.1 ${status}\r\n${lines.join("\r\n")}\r\n\r\n`;
    await writeAll(
      this.#parts.client,
      Uint8Array.from(text, (character) => character.charCodeAt(0)),
    );
  }
}

/** Reads content of a known length, as {@linkcode chunksOf} does. @throws when it ends before */
async function* piecesOf(from: Incoming, length: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const piece = new Uint8Array(PIECE_BYTES);
  for (let left = length; left > 0;) {
    const count = await from.read(piece.subarray(0, Math.min(left, PIECE_BYTES)));
    if (count === null) throw new Error("the content was cut off");
    yield piece.subarray(0, count);
    left -= count;
  }
}
