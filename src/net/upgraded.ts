/** Takes over connections of `Deno.serve` for another protocol. */
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { writeAll } from "../base/write_all.ts";

interface Upgraded {
  /** Also gets the status line and headers of the answer. */
  stream: Duplex;
  response: Response;
}

const READ_BYTES = 64 * 1024;

interface Internals {
  upgradeHttpRaw(request: Request): { conn: Deno.Conn; response: Response };
}

/**
 * Takes over a request's connection, with the internal function of Deno's `node:http`. Deno's
 * own WebSockets keep an unfinished message of any size (2.7.11), so a library is used.
 *
 * @throws {Deno.errors.Http} when the request was answered already
 */
export function takeConnection(request: Request): Upgraded {
  const of_deno = Deno as unknown as { internal: symbol } & Record<symbol, Internals>;
  // cwd-ok: only the upgrade is taken from there
  const { conn, response } = of_deno[of_deno.internal].upgradeHttpRaw(request);
  return { stream: streamOf(conn), response };
}

/** Reads only what the stream's user takes. */
function streamOf(conn: Deno.Conn): Duplex {
  const buffer = new Uint8Array(READ_BYTES);
  const write = (chunk: Uint8Array, done: (error?: Error) => void) =>
    void writeAll(conn, chunk).then(() => done(), done);
  return new Duplex({
    read() {
      conn.read(buffer).then((read) => {
        if (read === null) return this.push(null);
        const bytes = Buffer.from(buffer.buffer, 0, read);
        // Data of a refused peer is dropped, and needs no copy.
        this.push(this.listenerCount("data") > 0 ? Buffer.from(bytes) : bytes);
      }, (error) => this.destroy(error));
    },
    write: (chunk: Uint8Array, _encoding, done) => write(chunk, done),
    // One write leaves in one packet.
    writev: (waiting, done) => write(Buffer.concat(waiting.map(({ chunk }) => chunk)), done),
    final(done) {
      conn.closeWrite().then(() => done(), () => done());
    },
    destroy(error, done) {
      try {
        conn.close();
      } catch {
        // Already closed.
      }
      done(error);
    },
  });
}
