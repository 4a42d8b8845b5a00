/**
 * Bytes that are typed on the terminal. Nothing is read before something is there: a read that
 * waits would take the first key from a program that the terminal is lent to.
 */
import { openLibc } from "../os/libc.ts";

const SYMBOLS = {
  poll: { parameters: ["buffer", "usize", "i32"], result: "i32", nonblocking: true },
  pipe: { parameters: ["buffer"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
} as const;

const STDIN = 0;
/** POLLIN of poll(2); the bytes of a `struct pollfd`, and where its results stand. */
const POLLIN = 1;
const POLLFD = 8;
const REVENTS = 6;
const FOREVER = -1;

export class TerminalInput implements Disposable {
  readonly #libc = Deno.build.os === "windows" ? undefined : openLibc(SYMBOLS);
  /** Written to end a wait; none if the system has no pipe to give. */
  readonly #pipe: { read: number; write: number } | undefined;
  #paused: PromiseWithResolvers<void> | undefined;
  #waiting: Promise<boolean> | undefined;
  #closed = false;

  constructor() {
    const ends = new Int32Array(2);
    if (this.#libc === undefined || this.#libc.symbols.pipe(ends) !== 0) return;
    this.#pipe = { read: ends[0], write: ends[1] };
  }

  /** Reads what was typed. @returns the number of bytes, null at the end of the input */
  async read(buffer: Uint8Array): Promise<number | null> {
    while (!this.#closed) {
      await this.#paused?.promise;
      if (this.#pipe === undefined) return await Deno.stdin.read(buffer);
      const typed = await (this.#waiting = this.#wait(this.#pipe.read));
      this.#waiting = undefined;
      if (typed && this.#paused === undefined) return await Deno.stdin.read(buffer);
    }
    return null;
  }

  /** Stops reading until {@linkcode resume}; what is typed meanwhile is for another program. */
  async pause(): Promise<void> {
    this.#paused ??= Promise.withResolvers();
    this.#wake();
    await this.#waiting;
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.resume();
    this.#wake();
  }

  #wake(): void {
    if (this.#pipe !== undefined) {
      this.#libc!.symbols.write(this.#pipe.write, new Uint8Array(1), 1n);
    }
  }

  /** Waits for input, or to be woken up. @returns whether there is input */
  async #wait(pipe: number): Promise<boolean> {
    const { poll, read } = this.#libc!.symbols;
    const fds = new DataView(new ArrayBuffer(2 * POLLFD));
    for (const [n, fd] of [STDIN, pipe].entries()) {
      fds.setInt32(n * POLLFD, fd, true);
      fds.setInt16(n * POLLFD + 4, POLLIN, true);
    }
    const bytes = new Uint8Array(fds.buffer);
    // An interrupted wait is none; a read tells what is wrong with the input.
    if (await poll(bytes, 2n, FOREVER) < 0) return false;
    if (fds.getInt16(POLLFD + REVENTS, true) !== 0) read(pipe, new Uint8Array(64), 64n);
    return fds.getInt16(REVENTS, true) !== 0;
  }
}
