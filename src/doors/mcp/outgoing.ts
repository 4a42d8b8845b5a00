/** Passes a body on and counts its unread bytes. */
export class Outgoing {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #source: ReadableStreamDefaultReader<Uint8Array>;
  readonly #onChange: () => void;
  #waiting: Uint8Array[] = [];
  #unread = 0;
  #ended = false;
  #closed = false;
  #wake: (() => void) | undefined;

  /** @param onChange called after each read and at the end */
  constructor(source: ReadableStream<Uint8Array>, onChange: () => void) {
    this.#source = source.getReader();
    this.#onChange = onChange;
    this.readable = new ReadableStream({
      pull: (controller) => this.#pull(controller),
      cancel: () => this.#cancel(),
    }, { highWaterMark: 0 });
    this.#take();
  }

  get unread(): number {
    return this.#unread;
  }

  /** Whether the reader has everything, or has disconnected. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Takes all data at once, so that it can be counted. */
  async #take(): Promise<void> {
    try {
      for (let read; !(read = await this.#source.read()).done;) {
        this.#waiting.push(read.value);
        this.#unread += read.value.byteLength;
        this.#wake?.();
      }
    } catch {
      // Earlier data is still passed on.
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
