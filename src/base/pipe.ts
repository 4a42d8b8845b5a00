import { setImmediate } from "node:timers/promises";

const BUFFER_BYTES = 64 * 1024;
const YIELD_EVERY_BYTES = 4 * 1024 * 1024;

/** Reads a pipe through one buffer, and yields when it floods. */
export class Pipe {
  /** Resolves when reading has ended or failed; never rejects. */
  readonly ended: Promise<void>;
  readonly #reader: ReadableStreamBYOBReader;

  /** @param onChunk gets chunks, valid during the call; if it throws, the pipe is closed */
  constructor(stream: ReadableStream<Uint8Array>, onChunk: (chunk: Uint8Array) => void) {
    this.#reader = stream.getReader({ mode: "byob" });
    this.ended = this.#read(onChunk).catch(() => this.#cancel());
  }

  async #read(onChunk: (chunk: Uint8Array) => void): Promise<void> {
    let buffer = new Uint8Array(BUFFER_BYTES);
    let since_yield = 0;
    while (true) {
      const { value, done } = await this.#reader.read(buffer);
      if (done || value === undefined) return;
      onChunk(value);
      since_yield += value.length;
      buffer = new Uint8Array(value.buffer);
      if (since_yield < YIELD_EVERY_BYTES) continue;
      since_yield = 0;
      await setImmediate();
    }
  }

  /** Stops reading, even if another process holds the other end. */
  async close(): Promise<void> {
    await this.#cancel();
    await this.ended;
  }

  async #cancel(): Promise<void> {
    try {
      await this.#reader.cancel();
    } catch {
      // The pipe was broken.
    }
  }
}
