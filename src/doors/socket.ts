/** The local socket: newline-delimited JSON-RPC, one message or batch per line. */
import { deadline } from "@std/async";
import { rpcError } from "./rpc/codec.ts";
import { CALLS_MAX, Connection, type Receiver, type Send } from "./rpc/connection.ts";
import type { Dispatcher } from "../verbs/define.ts";
import { toSvcError } from "../protocol/errors.ts";
import { LineSplitter } from "../base/line_splitter.ts";
import { LineWriter } from "../base/line_writer.ts";
import type { LocalConn, LocalListener } from "../os/local_socket.ts";
import type { Log } from "../os/log.ts";

/** Longest line, bytes (contract.md section 2). */
const LINE_MAX = 8 * 1024 * 1024;
const TOO_LONG =
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is longer than 8 MiB","data":{"svc_code":"payload_too_large"}}}';
/** Unread characters above which a peer's requests are not read. */
const UNREAD_MAX = 16 * 1024 * 1024;
/** Time for last answers to a peer that closed its side. */
const LAST_ANSWERS_MS = 2_000;

/** The method in a connection's first line that switches it to MCP, with the same framing. */
const MCP_METHOD = "$/mcp";

interface SocketOptions {
  dispatcher: Dispatcher;
  /** Serves MCP to a connection. @throws {SvcError} validation for invalid options */
  serveMcp(options: unknown, send: Send): Promise<Receiver>;
  log: Log;
}

interface SocketDoor {
  /** Closes the listener, and all connections after their last lines. */
  close(): Promise<void>;
}

/** Serves a socket whose connections all belong to the daemon's user. */
export function serveSocket(listener: LocalListener, options: SocketOptions): SocketDoor {
  const { log } = options;
  const open = new Map<LocalConn, LineWriter>();
  const accept = async () => {
    for await (const conn of listener) {
      const writer = new LineWriter(conn, () => closeQuietly(conn));
      open.set(conn, writer);
      serveConn(conn, writer, options)
        .catch((error) => log.debug("a socket connection failed", { error: String(error) }))
        .finally(() => {
          open.delete(conn);
          closeQuietly(conn);
        });
    }
  };
  accept().catch((error) => log.error("the local socket failed", { error: String(error) }));
  return {
    async close() {
      closeQuietly(listener);
      await Promise.all([...open].map(async ([conn, writer]) => {
        await writer.idle();
        closeQuietly(conn);
      }));
    },
  };
}

async function serveConn(
  conn: LocalConn,
  writer: LineWriter,
  { dispatcher, serveMcp }: SocketOptions,
): Promise<void> {
  const send: Send = (text) => writer.write(text);
  let peer: Receiver = new Connection(dispatcher, "socket", send, () => closeQuietly(conn));
  let first = true;
  const answering = new Set<Promise<void>>();
  try {
    for await (const line of lines(conn)) {
      if (line === undefined) {
        writer.write(TOO_LONG);
        await writer.idle();
        return await discardRest(conn);
      }
      if (line === "") continue;
      const turn = first ? mcpTurn(line) : undefined;
      first = false;
      if (turn !== undefined) {
        peer = await turnToMcp(turn, serveMcp, send) ?? peer;
        continue;
      }
      const answered = peer.receive(line).catch(() => closeQuietly(conn))
        .finally(() => answering.delete(answered));
      answering.add(answered);
      if (answering.size >= CALLS_MAX) await Promise.race(answering);
      // Do not read from a peer that does not read.
      if (writer.waiting > UNREAD_MAX) await writer.idle();
    }
    // The peer may still wait for answers.
    if (answering.size > 0) {
      await deadline(Promise.all(answering), LAST_ANSWERS_MS).catch(() => {});
    }
    await writer.idle();
  } finally {
    peer.dispose();
  }
}

interface McpTurn {
  id: string | number | null;
  params?: unknown;
}

/** The options of a switch to MCP; undefined for other lines. */
function mcpTurn(line: string): McpTurn | undefined {
  if (!line.includes(MCP_METHOD)) return undefined;
  try {
    const { id = null, method, params } = JSON.parse(line);
    return method === MCP_METHOD ? { id, params } : undefined;
  } catch {
    // The connection reports the error.
    return undefined;
  }
}

/** @returns undefined when the switch is refused */
async function turnToMcp(
  { id, params }: McpTurn,
  serveMcp: SocketOptions["serveMcp"],
  send: Send,
): Promise<Receiver | undefined> {
  try {
    const peer = await serveMcp(params, send);
    await send(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
    return peer;
  } catch (error) {
    await send(JSON.stringify({ jsonrpc: "2.0", id, error: rpcError(toSvcError(error)) }));
  }
}

/** Reads the rest from a refused peer: unread bytes would reset the connection early. */
async function discardRest(conn: LocalConn): Promise<void> {
  const discard = async () => {
    await conn.closeWrite();
    const buffer = new Uint8Array(64 * 1024);
    while ((await conn.read(buffer)) !== null);
  };
  await deadline(discard(), LAST_ANSWERS_MS).catch(() => {});
}

/** Yields a connection's lines; ends with undefined for a too long one. */
async function* lines(conn: LocalConn): AsyncGenerator<string | undefined> {
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(64 * 1024);
  let read: (string | undefined)[] = [];
  const tooLong = () => void read.push(undefined);
  const splitter = new LineSplitter(LINE_MAX, {
    line: (bytes) => void read.push(decoder.decode(bytes).trim()),
    tooLong,
    tooLongEnd: tooLong,
  });
  for (let size; (size = await conn.read(chunk)) !== null;) {
    splitter.push(chunk.subarray(0, size));
    for (const line of read) {
      yield line;
      if (line === undefined) return;
    }
    read = [];
  }
}

function closeQuietly(resource: { close(): void }): void {
  try {
    resource.close();
  } catch {
    // Already closed.
  }
}
