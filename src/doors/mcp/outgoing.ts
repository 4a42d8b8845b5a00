/** Passes a body on to its reader and counts how much of it is unread. */
export class Outgoing {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #source: ReadableStreamDefaultReader<Uint8Array>;
  readonly #onChange: () => void;
  #waiting: Uint8Array[] = [];
  #unread = 0;
  #ended = false;
  #closed = false;
  #wake: (() => void) | undefined;

  /** @param onChange called when something was read and when the body has ended */
  constructor(source: ReadableStream<Uint8Array>, onChange: () => void) {
    this.#source = source.getReader();
    this.#onChange = onChange;
    this.readable = new ReadableStream({
      pull: (controller) => this.#pull(controller),
      cancel: () => this.#cancel(),
    }, { highWaterMark: 0 });
    this.#take();
  }

  /** The number of unread bytes. */
  get unread(): number {
    return this.#unread;
  }

  /** Whether its reader has all of it, or has disconnected. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Takes everything that is written, so that nothing waits where it cannot be counted. */
  async #take(): Promise<void> {
    try {
      for (let read; !(read = await this.#source.read()).done;) {
        this.#waiting.push(read.value);
        this.#unread += read.value.byteLength;
        this.#wake?.();
      }
    } catch {
      // Everything written before is still passed on.
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
