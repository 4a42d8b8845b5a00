/** Passes a body on to its reader and knows how much of it lies unread. */
export class Outgoing {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #source: ReadableStreamDefaultReader<Uint8Array>;
  readonly #onChange: () => void;
  #waiting: Uint8Array[] = [];
  #unread = 0;
  #ended = false;
  #closed = false;
  #wake: (() => void) | undefined;

  /** @param onChange called when something was read and when the body is done with. */
  constructor(source: ReadableStream<Uint8Array>, onChange: () => void) {
    this.#source = source.getReader();
    this.#onChange = onChange;
    this.readable = new ReadableStream({
      pull: (controller) => this.#pull(controller),
      cancel: () => this.#cancel(),
    }, { highWaterMark: 0 });
    this.#take();
  }

  /** Bytes that the reader has yet to take. */
  get unread(): number {
    return this.#unread;
  }

  /** Whether its reader has all of it, or is gone. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Takes over what is written, so that nothing waits where it cannot be counted. */
  async #take(): Promise<void> {
    try {
      for (let read; !(read = await this.#source.read()).done;) {
        this.#waiting.push(read.value);
        this.#unread += read.value.byteLength;
        this.#wake?.();
      }
    } catch {
      // What was written before is still passed on.
    }
    this.#ended = true;
    this.#wake?.();
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#waiting.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const chunk = this.#waiting.shift();
    if (chunk !== undefined) {
      this.#unread -= chunk.byteLength;
      controller.enqueue(chunk);
    } else if (!this.#closed) {
      this.#closed = true;
      controller.close();
    }
    this.#onChange();
  }

  async #cancel(): Promise<void> {
    this.#closed = true;
    this.#waiting = [];
    this.#unread = 0;
    this.#onChange();
    await this.#source.cancel();
  }
}
