/** The local socket: newline-delimited JSON-RPC, one message or batch per line. */
import { deadline } from "@std/async";
import { Connection } from "../rpc/connection.ts";
import type { Dispatcher } from "../verbs/define.ts";
import type { Log } from "../platform/log.ts";

/** Longest line in bytes (contract.md section 2). */
const LINE_MAX = 8 * 1024 * 1024;
const NEWLINE = 0x0a;
const TOO_LONG =
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is longer than 8 MiB","data":{"svc_code":"payload_too_large"}}}';
/** Characters that may wait for a peer before its subscriptions are asked to wait. */
const WAITING_MAX = 256 * 1024;
/** Characters of answers that a peer may leave unread while it goes on asking. */
const UNREAD_MAX = 16 * 1024 * 1024;
/** How long a peer that has closed its side, or is gone, is still answered. */
const LAST_ANSWERS_MS = 2_000;

export interface SocketDoor {
  /** Closes the listener, lets every connection's last lines out, and closes them. */
  close(): Promise<void>;
}

/**
 * Serves a bound socket.
 *
 * @param expelForeign shuts down the connections of other users; called after each accept, before
 * anything is read.
 */
export function serveSocket(
  listener: Deno.UnixListener,
  dispatcher: Dispatcher,
  expelForeign: () => void,
  log: Log,
): SocketDoor {
  const open = new Map<Deno.UnixConn, LineWriter>();
  const accept = async () => {
    for await (const conn of listener) {
      expelForeign();
      const writer = new LineWriter(conn);
      open.set(conn, writer);
      serveConn(conn, writer, dispatcher)
        .catch((error) => log.debug("a socket connection broke", { error: String(error) }))
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
  conn: Deno.UnixConn,
  writer: LineWriter,
  dispatcher: Dispatcher,
): Promise<void> {
  const connection = new Connection(dispatcher, "socket", (text) => writer.write(text));
  const answering = new Set<Promise<void>>();
  try {
    for await (const line of lines(conn)) {
      if (line === undefined) {
        writer.write(TOO_LONG);
        await writer.idle();
        return await discardRest(conn);
      }
      if (line === "") continue;
      const answered = connection.receive(line).catch(() => closeQuietly(conn))
        .finally(() => answering.delete(answered));
      answering.add(answered);
      // Who does not read is not read from.
      if (writer.waiting > UNREAD_MAX) await writer.idle();
    }
    // One who sends no more may still wait for answers.
    if (answering.size > 0) {
      await deadline(Promise.all(answering), LAST_ANSWERS_MS).catch(() => {});
    }
    await writer.idle();
  } finally {
    connection.dispose();
  }
}

/**
 * Reads what a refused peer still sends, for a moment: a socket closed over unread bytes resets the
 * connection, and the peer could miss why.
 */
async function discardRest(conn: Deno.UnixConn): Promise<void> {
  const discard = async () => {
    await conn.closeWrite();
    const buffer = new Uint8Array(64 * 1024);
    while ((await conn.read(buffer)) !== null);
  };
  await deadline(discard(), LAST_ANSWERS_MS).catch(() => {});
}

/** The lines of a connection; undefined for one that is too long, and then no more. */
async function* lines(conn: Deno.UnixConn): AsyncGenerator<string | undefined> {
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(64 * 1024);
  let rest: Uint8Array[] = [];
  let size = 0;
  for (let read; (read = await conn.read(chunk)) !== null;) {
    let start = 0;
    for (let at; (at = chunk.indexOf(NEWLINE, start)) >= 0 && at < read; start = at + 1) {
      if (size + at - start > LINE_MAX) return yield undefined;
      rest.push(chunk.slice(start, at));
      yield decoder.decode(await new Blob(rest as BlobPart[]).arrayBuffer()).trim();
      rest = [];
      size = 0;
    }
    if (start < read) {
      rest.push(chunk.slice(start, read));
      size += read - start;
    }
    if (size > LINE_MAX) return yield undefined;
  }
}

/** Writes lines whole and in order; what comes while one is written goes out together. */
class LineWriter {
  readonly #conn: Deno.UnixConn;
  #next: string[] = [];
  /** Characters in `#next`. */
  #size = 0;
  #writing: Promise<void> | undefined;

  constructor(conn: Deno.UnixConn) {
    this.#conn = conn;
  }

  /** Takes a line; a promise asks the sender to wait until the peer has read. */
  write(line: string): void | Promise<void> {
    this.#next.push(line, "\n");
    this.#size += line.length + 1;
    this.#writing ??= this.#flush();
    if (this.#size > WAITING_MAX) return this.#writing;
  }

  /** Characters that wait behind what is being written. */
  get waiting(): number {
    return this.#size;
  }

  /** Resolves when nothing waits to be written. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #flush(): Promise<void> {
    try {
      while (this.#next.length > 0) {
        const bytes = new TextEncoder().encode(this.#next.splice(0).join(""));
        this.#size = 0;
        for (let done = 0; done < bytes.length;) {
          done += await this.#conn.write(bytes.subarray(done));
        }
      }
    } catch {
      // The peer is gone; reading from it ends too, and that ends the connection.
      closeQuietly(this.#conn);
    } finally {
      this.#writing = undefined;
    }
  }
}

function closeQuietly(resource: { close(): void }): void {
  try {
    resource.close();
  } catch {
    // Closed already.
  }
}
