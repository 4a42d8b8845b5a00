/**
 * One wait for all overlapped operations of several pipes: on Windows, Deno has four threads a core
 * for everything that blocks, so an operation must not hold its own.
 */
import { openLibrary } from "./libraries.ts";

const INVALID_HANDLE = -1n;
const INFINITE = 0xffff_ffff;
/** Belongs to no operation: it only ends the wait. */
const WAKE_UP = 0n;

const KERNEL = {
  CreateIoCompletionPort: { parameters: ["isize", "isize", "usize", "u32"], result: "isize" },
  GetQueuedCompletionStatus: {
    parameters: ["isize", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
    nonblocking: true,
  },
  PostQueuedCompletionStatus: { parameters: ["isize", "u32", "usize", "usize"], result: "i32" },
  CancelIoEx: { parameters: ["isize", "pointer"], result: "i32" },
  CloseHandle: { parameters: ["isize"], result: "i32" },
} as const;

export interface Operation {
  /** Pass it as the operation's context. */
  id: bigint;
  ended: Promise<void>;
}

/** A completion port, open while it has users. */
export class CompletionPort {
  readonly #library = openLibrary("kernel32", KERNEL);
  readonly #kernel = this.#library.symbols;
  readonly #port = this.#kernel.CreateIoCompletionPort(INVALID_HANDLE, 0n, 0n, 1);
  readonly #pending = new Map<bigint, () => void>();
  #last_id = WAKE_UP;
  #users = 0;

  constructor() {
    this.#wait();
  }

  retain(): void {
    this.#users++;
  }

  /** The last user closes it. */
  release(): void {
    if (--this.#users === 0) this.#kernel.PostQueuedCompletionStatus(this.#port, 0, 0n, WAKE_UP);
  }

  /** Reports the ends of a handle's operations here. */
  attach(handle: bigint): void {
    this.#kernel.CreateIoCompletionPort(handle, this.#port, 0n, 0);
  }

  /** Announces an operation that is about to start. */
  announce(): Operation {
    const id = ++this.#last_id;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#pending.set(id, resolve);
    return { id, ended };
  }

  /** Removes an operation that could not start. */
  withdraw({ id }: Operation): void {
    this.#pending.delete(id);
  }

  /** Ends a handle's running operations. */
  cancel(handle: bigint): void {
    this.#kernel.CancelIoEx(handle, null);
  }

  closeHandle(handle: bigint): void {
    this.#kernel.CloseHandle(handle);
  }

  async #wait(): Promise<void> {
    const bytes = new Uint8Array(new ArrayBuffer(4));
    const key = new Uint8Array(new ArrayBuffer(8));
    const context = new BigUint64Array(1);
    do {
      const into = new Uint8Array(context.buffer);
      // The operation's own status block has its result.
      await this.#kernel.GetQueuedCompletionStatus(this.#port, bytes, key, into, INFINITE);
      this.#pending.get(context[0])?.();
      this.#pending.delete(context[0]);
      // Windows may write to them until here.
      bytes.fill(0);
      key.fill(0);
    } while (context[0] !== WAKE_UP);
    this.#kernel.CloseHandle(this.#port);
    this.#library.close();
  }
}
