/**
 * A load generator in a process of its own, for machines without wrk: keep-alive connections that
 * each send one request at a time.
 *
 *   deno run --allow-net=127.0.0.1 bench/load_main.ts <port> <path> <token> <connections> <seconds>
 *
 * prints the requests per second. Speaks just enough HTTP/1.1 for answers with a Content-Length.
 */
import { writeAll } from "../src/base/write_all.ts";

const HEAD_END = new TextEncoder().encode("\r\n\r\n");

/** Sends requests over one connection until the time is up; returns how many were answered. */
async function client(port: number, request: Uint8Array, until: number): Promise<number> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const buffer = new Uint8Array(256 * 1024);
  const decoder = new TextDecoder("latin1");
  let answered = 0;
  while (performance.now() < until) {
    await writeAll(conn, request);
    let filled = 0;
    let whole = Infinity;
    while (filled < whole) {
      const read = await conn.read(buffer.subarray(filled % buffer.length));
      if (read === null) throw new Error("the server closed the connection");
      filled += read;
      if (whole !== Infinity) continue;
      const end = indexOf(buffer.subarray(0, filled), HEAD_END);
      if (end < 0) continue;
      const head = decoder.decode(buffer.subarray(0, end));
      const length = head.match(/\r\ncontent-length: *(\d+)/i)?.[1];
      if (!head.startsWith("HTTP/1.1 200 ") || length === undefined) throw new Error(head);
      whole = end + HEAD_END.length + Number(length);
    }
    answered++;
  }
  return answered;
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array): number {
  for (let at = bytes.indexOf(wanted[0]); at >= 0; at = bytes.indexOf(wanted[0], at + 1)) {
    if (wanted.every((byte, n) => bytes[at + n] === byte)) return at;
  }
  return -1;
}

if (import.meta.main) {
  const [port, path, token, connections, seconds] = Deno.args;
  const request = new TextEncoder().encode(
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`,
  );
  const started = performance.now();
  const until = started + Number(seconds) * 1000;
  const counts = await Promise.all(
    Array.from({ length: Number(connections) }, () => client(Number(port), request, until)),
  );
  const answered = counts.reduce((sum, count) => sum + count);
  console.log(answered / ((performance.now() - started) / 1000));
}
