/**
 * One wait for all overlapped operations of some pipes: on Windows Deno has four threads a core for
 * everything that blocks, so an operation must not hold one of its own.
 */
import { openLibrary } from "./libraries.ts";

const INVALID_HANDLE = -1n;
const INFINITE = 0xffff_ffff;
/** Of no operation: it only ends the wait. */
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

/** An operation that was announced to the port. */
export interface Operation {
  /** What the operation is to be started with, as its context. */
  id: bigint;
  ended: Promise<void>;
}

/** A completion port, open as long as somebody uses it. */
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

  /** Counts one more who uses it. */
  retain(): void {
    this.#users++;
  }

  /** The last one who uses it closes it. */
  release(): void {
    if (--this.#users === 0) this.#kernel.PostQueuedCompletionStatus(this.#port, 0, 0n, WAKE_UP);
  }

  /** Has the ends of a handle's operations told here. */
  attach(handle: bigint): void {
    this.#kernel.CreateIoCompletionPort(handle, this.#port, 0n, 0);
  }

  /** Announces an operation that is about to be started. */
  announce(): Operation {
    const id = ++this.#last_id;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#pending.set(id, resolve);
    return { id, ended };
  }

  /** Takes an announced operation back that could not be started. */
  withdraw({ id }: Operation): void {
    this.#pending.delete(id);
  }

  /** Ends the operations of a handle that are under way. */
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
      // How the operation went, its own status block says.
      await this.#kernel.GetQueuedCompletionStatus(this.#port, bytes, key, into, INFINITE);
      this.#pending.get(context[0])?.();
      this.#pending.delete(context[0]);
      // They are Windows's to write until here.
      bytes.fill(0);
      key.fill(0);
    } while (context[0] !== WAKE_UP);
    this.#kernel.CloseHandle(this.#port);
    this.#library.close();
  }
}
