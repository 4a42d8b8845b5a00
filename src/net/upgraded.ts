/** The connection behind a request of `Deno.serve` that asks for another protocol. */
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { writeAll } from "../base/write_all.ts";

/** The connection, as Node's streams have one, and what the request is answered with. */
export interface Upgraded {
  /** The status line and the headers of the answer are written to it too. */
  stream: Duplex;
  response: Response;
}

const READ_BYTES = 64 * 1024;

interface Internals {
  upgradeHttpRaw(request: Request): { conn: Deno.Conn; response: Response };
}

/**
 * Takes the connection of a request over. Deno's own WebSockets keep whatever a peer sends of a
 * message that it never ends (2.7.11); a library that bounds it needs the connection. Deno has no
 * public way to it, and its `node:http` goes this one.
 *
 * @throws {Deno.errors.Http} when the request was answered already.
 */
export function takeConnection(request: Request): Upgraded {
  const of_deno = Deno as unknown as { internal: symbol } & Record<symbol, Internals>;
  // cwd-ok: only the upgrade is taken from there
  const { conn, response } = of_deno[of_deno.internal].upgradeHttpRaw(request);
  return { stream: streamOf(conn), response };
}

/** Nothing is read from the connection that nobody takes from the stream. */
function streamOf(conn: Deno.Conn): Duplex {
  const buffer = new Uint8Array(READ_BYTES);
  const write = (chunk: Uint8Array, done: (error?: Error) => void) =>
    void writeAll(conn, chunk).then(() => done(), done);
  return new Duplex({
    read() {
      conn.read(buffer).then((read) => {
        if (read === null) return this.push(null);
        const bytes = Buffer.from(buffer.buffer, 0, read);
        // What a refused peer still sends is dropped, and needs no memory of its own.
        this.push(this.listenerCount("data") > 0 ? Buffer.from(bytes) : bytes);
      }, (error) => this.destroy(error));
    },
    write: (chunk: Uint8Array, _encoding, done) => write(chunk, done),
    // What is written in one go leaves in one packet.
    writev: (waiting, done) => write(Buffer.concat(waiting.map(({ chunk }) => chunk)), done),
    final(done) {
      conn.closeWrite().then(() => done(), () => done());
    },
    destroy(error, done) {
      try {
        conn.close();
      } catch {
        // Closed already.
      }
      done(error);
    },
  });
}
