import { setImmediate } from "node:timers/promises";

const BUFFER_BYTES = 64 * 1024;
const YIELD_EVERY_BYTES = 4 * 1024 * 1024;

/** Reads a pipe through one buffer, and lets others have their turn when it floods. */
export class Pipe {
  /** Resolves when nothing more is read: at its end, or when it breaks; never rejects. */
  readonly ended: Promise<void>;
  readonly #reader: ReadableStreamBYOBReader;

  /**
   * @param onChunk takes what comes; the chunk is valid during the call only. One that throws closes
   * the pipe: who writes to it is not left waiting.
   */
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

  /** Stops reading, also when something still holds the other end. */
  async close(): Promise<void> {
    await this.#cancel();
    await this.ended;
  }

  async #cancel(): Promise<void> {
    try {
      await this.#reader.cancel();
    } catch {
      // It had broken.
    }
  }
}
