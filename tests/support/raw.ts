/** HTTP and WebSocket by hand, for what no well-behaved client can be made to send. */
import { writeAll } from "../../src/base/write_all.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface RawResponse {
  status: number;
  headers: Headers;
  body: string;
}

/** Headers by name; an undefined one is left out. */
export type RawHeaders = Record<string, string | undefined>;

/** One request over a connection of its own; Host is the listener's unless given. */
export async function rawHttp(
  port: number,
  method: string,
  path: string,
  headers: RawHeaders = {},
  body = "",
): Promise<RawResponse> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const length = body === "" ? undefined : String(encoder.encode(body).length);
  const all = { host: `127.0.0.1:${port}`, "content-length": length, ...headers };
  // An answer may come, and the connection end, before the body is sent.
  const request = head(method, path, { ...all, connection: "close" }) + body;
  const sending = writeAll(conn, encoder.encode(request)).catch(() => {});
  const received = new Received(conn);
  const response = await received.head();
  const text = decoder.decode(await received.rest());
  await sending;
  return { ...response, body: text };
}

/** Sends bytes as they are; all that comes back until the server closes the connection. */
export async function rawExchange(port: number, data: string | Uint8Array): Promise<string> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const bytes = typeof data === "string" ? encoder.encode(data) : data;
  const sending = writeAll(conn, bytes).catch(() => {});
  const text = decoder.decode(await new Received(conn).rest());
  await sending;
  return text;
}

/** The frames of a WebSocket. */
export interface Frame {
  opcode: number;
  payload: Uint8Array;
}

/** A WebSocket client that does as it is told. */
export class RawWebSocket implements Disposable {
  readonly #conn: Deno.TcpConn;
  readonly #received: Received;

  private constructor(conn: Deno.TcpConn, received: Received) {
    this.#conn = conn;
    this.#received = received;
  }

  /** Sends a handshake; `socket` is there when it was accepted. */
  static async open(
    port: number,
    { path = "/v1/ws", protocols, headers = {} }: {
      path?: string;
      protocols?: string;
      headers?: RawHeaders;
    },
  ): Promise<{ status: number; headers: Headers; socket?: RawWebSocket }> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    const request = head("GET", path, {
      host: `127.0.0.1:${port}`,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-protocol": protocols,
      ...headers,
    });
    await writeAll(conn, encoder.encode(request));
    const received = new Received(conn);
    const response = await received.head();
    if (response.status === 101) return { ...response, socket: new RawWebSocket(conn, received) };
    conn.close();
    return response;
  }

  /** Sends one masked frame; with `more`, one whose message goes on. */
  async send(opcode: number, payload: string | Uint8Array, more = false): Promise<void> {
    const bytes = typeof payload === "string" ? encoder.encode(payload) : payload;
    const frame = new Uint8Array(14 + bytes.length);
    const view = new DataView(frame.buffer);
    frame[0] = (more ? 0 : 0x80) | opcode;
    let at = 2;
    if (bytes.length < 126) frame[1] = bytes.length;
    else if (bytes.length < 65_536) {
      frame[1] = 126;
      view.setUint16(2, bytes.length);
      at = 4;
    } else {
      frame[1] = 127;
      view.setBigUint64(2, BigInt(bytes.length));
      at = 10;
    }
    frame[1] |= 0x80;
    // A mask of zeros is one too.
    frame.set(bytes, at + 4);
    await writeAll(this.#conn, frame.subarray(0, at + 4 + bytes.length));
  }

  /** Sends bytes as they are. */
  async write(bytes: Uint8Array): Promise<void> {
    await writeAll(this.#conn, bytes);
  }

  /** The next frame; undefined when the connection ends. */
  async receive(): Promise<Frame | undefined> {
    const start = await this.#received.take(2);
    if (start === undefined) return undefined;
    let length = start[1] & 0x7f;
    if (length >= 126) {
      const more = await this.#received.take(length === 126 ? 2 : 8);
      if (more === undefined) return undefined;
      length = more.reduce((sum, byte) => sum * 256 + byte, 0);
    }
    const payload = await this.#received.take(length);
    return payload && { opcode: start[0] & 0x0f, payload };
  }

  /** The JSON of the next text frame. */
  // deno-lint-ignore no-explicit-any -- tests look at what they expect
  async json(): Promise<any> {
    for (let frame; (frame = await this.receive()) !== undefined;) {
      if (frame.opcode === TEXT) return JSON.parse(decoder.decode(frame.payload));
      if (frame.opcode === CLOSE) break;
    }
    throw new Error("the WebSocket was closed");
  }

  /** Waits for the close frame. */
  async closed(): Promise<{ code: number; reason: string } | undefined> {
    for (let frame; (frame = await this.receive()) !== undefined;) {
      if (frame.opcode !== CLOSE) continue;
      const code = new DataView(frame.payload.buffer, frame.payload.byteOffset).getUint16(0);
      return { code, reason: decoder.decode(frame.payload.subarray(2)) };
    }
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#conn.close();
  }
}

export const CONTINUATION = 0;
export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

function head(method: string, path: string, headers: RawHeaders): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`]
  );
  return [`${method} ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

/** What a connection sent, taken piece by piece. */
class Received {
  readonly #conn: Deno.Conn;
  #bytes = new Uint8Array();

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  async head(): Promise<{ status: number; headers: Headers }> {
    let end: number;
    while ((end = decoder.decode(this.#bytes).indexOf("\r\n\r\n")) < 0) {
      if (!(await this.#more())) throw new Error("the connection ended before an answer");
    }
    const [first, ...lines] = decoder.decode(this.#bytes.subarray(0, end)).split("\r\n");
    this.#bytes = this.#bytes.slice(end + 4);
    const pairs = lines.map((line) => line.split(/:\s*(.*)/).slice(0, 2) as [string, string]);
    return { status: Number(first.split(" ")[1]), headers: new Headers(pairs) };
  }

  async take(length: number): Promise<Uint8Array | undefined> {
    while (this.#bytes.length < length) if (!(await this.#more())) return undefined;
    const taken = this.#bytes.slice(0, length);
    this.#bytes = this.#bytes.slice(length);
    return taken;
  }

  async rest(): Promise<Uint8Array> {
    while (await this.#more());
    return this.#bytes;
  }

  async #more(): Promise<boolean> {
    const chunk = new Uint8Array(64 * 1024);
    const read = await this.#conn.read(chunk).catch(() => null);
    if (read === null) return false;
    const both = new Uint8Array(this.#bytes.length + read);
    both.set(this.#bytes);
    both.set(chunk.subarray(0, read), this.#bytes.length);
    this.#bytes = both;
    return true;
  }
}
