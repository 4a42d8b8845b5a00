/** Parts of tests of shared artifact stores. */
import type { Clock } from "../../src/base/clock.ts";

/** A clock whose timers fire at once; it notes how long they would have taken. */
export class HastyClock implements Clock {
  readonly waits: number[] = [];
  now = () => 0;

  after(ms: number, call: () => void): () => void {
    this.waits.push(ms);
    queueMicrotask(call);
    return () => {};
  }
}

/** Content with its name, digest and size. */
export async function artifactOf(content: string | Uint8Array<ArrayBuffer>, name = "a.txt") {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  return { name, sha256, size: bytes.length, bytes };
}

/** What a read got before its end or its failure. */
export async function readAll(stream: ReadableStream<Uint8Array> | undefined) {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let error: unknown;
  try {
    for await (const piece of stream!) pieces.push(piece.slice());
  } catch (thrown) {
    error = thrown;
  }
  return { bytes: new Uint8Array(await new Blob(pieces).arrayBuffer()), error };
}
