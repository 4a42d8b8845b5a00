/**
 * Overlapped reads and writes of a named pipe. Uses the system calls below kernel32, because they
 * return their status: the runtime may change GetLastError on the thread between two calls.
 */
import { SvcError } from "../../protocol/errors.ts";
import type { CompletionPort } from "./completion_port.ts";
import { openLibrary } from "./libraries.ts";
import { IO_STATUS_BLOCK } from "./structures.ts";
import { Instance } from "./structure.ts";

/** Success: the client was faster than the listening. */
const STATUS_PIPE_CONNECTED = 0xc00000b2;
const FSCTL_PIPE_LISTEN = 0x0011_0008;
/** From here on, no operation was started. */
const STATUS_SEVERITY_ERROR = 0xc000_0000;
const NOTHING = new Uint8Array();

/** Of a read and of a write. */
const TRANSFER = {
  parameters: [
    "isize",
    "isize",
    "pointer",
    "usize",
    "buffer",
    "buffer",
    "u32",
    "pointer",
    "pointer",
  ],
  result: "u32",
} as const;

const NT = {
  NtReadFile: TRANSFER,
  NtWriteFile: TRANSFER,
  NtFsControlFile: {
    parameters: [
      "isize",
      "isize",
      "pointer",
      "usize",
      "buffer",
      "u32",
      "pointer",
      "u32",
      "pointer",
      "u32",
    ],
    result: "u32",
  },
} as const;

type Transfer = Deno.DynamicLibrary<typeof NT>["symbols"]["NtReadFile"];

interface Completed {
  failed: boolean;
  bytes: number;
}

export class Pipe {
  readonly #handle: bigint;
  readonly #port: CompletionPort;
  readonly #library = openLibrary("ntdll", NT);
  readonly #pending = new Set<Promise<void>>();
  #closed = false;
  #readable: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;

  /** @param handle opened for overlapped operations; closed with this */
  constructor(handle: bigint, port: CompletionPort) {
    this.#handle = handle;
    this.#port = port;
    port.retain();
    port.attach(handle);
  }

  /** Waits until a client has connected. @returns false on failure, or if this was closed */
  async accept(): Promise<boolean> {
    const { failed } = await this.#run(
      NOTHING,
      (context, status) =>
        this.#library.symbols.NtFsControlFile(
          this.#handle,
          0n,
          null,
          context,
          status,
          FSCTL_PIPE_LISTEN,
          null,
          0,
          null,
          0,
        ),
    );
    return !failed && !this.#closed;
  }

  /** @returns null at the end, if either side has closed */
  async read(buffer: Uint8Array): Promise<number | null> {
    const { failed, bytes } = await this.#transfer(this.#library.symbols.NtReadFile, buffer);
    return failed ? null : bytes;
  }

  /** @throws {SvcError} internal when either side has closed */
  async write(buffer: Uint8Array): Promise<number> {
    const { failed, bytes } = await this.#transfer(this.#library.symbols.NtWriteFile, buffer);
    if (failed) throw new SvcError("internal", "the pipe is closed");
    return bytes;
  }

  /** A pipe cannot be half closed. */
  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#readable ??= new ReadableStream({
      type: "bytes",
      autoAllocateChunkSize: 64 * 1024,
      pull: async (controller) => {
        const { byobRequest } = controller;
        const view = byobRequest!.view as Uint8Array<ArrayBuffer>;
        const read = await this.read(view);
        if (read === null) controller.close();
        byobRequest!.respond(read ?? 0);
      },
      cancel: () => this.close(),
    });
  }

  /**
   * Cancels running operations, and closes once they have ended: until then they write to memory.
   */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#port.cancel(this.#handle);
    Promise.all(this.#pending).then(() => {
      this.#port.closeHandle(this.#handle);
      this.#port.release();
      this.#library.close();
    });
  }

  #transfer(call: Transfer, buffer: Uint8Array): Promise<Completed> {
    const bytes = pinned(buffer);
    return this.#run(
      bytes,
      (context, status) =>
        call(this.#handle, 0n, null, context, status, bytes, bytes.length, null, null),
    );
  }

  /** Starts an operation and waits for its end. Until then the system owns the bytes. */
  async #run(
    bytes: Uint8Array<ArrayBuffer>,
    start: (context: bigint, status: Uint8Array<ArrayBuffer>) => number,
  ): Promise<Completed> {
    if (this.#closed) return { failed: true, bytes: 0 };
    const block = new Instance(IO_STATUS_BLOCK);
    const operation = this.#port.announce();
    const started = start(operation.id, block.bytes);
    if (started >= STATUS_SEVERITY_ERROR) {
      this.#port.withdraw(operation);
      return { failed: started !== STATUS_PIPE_CONNECTED, bytes: 0 };
    }
    this.#pending.add(operation.ended);
    await operation.ended;
    this.#pending.delete(operation.ended);
    const status = Number(block.bigint("Status") & 0xffff_ffffn);
    const moved = Math.min(Number(block.bigint("Information")), bytes.length);
    return { failed: status >= STATUS_SEVERITY_ERROR, bytes: moved };
  }
}

/** The same bytes outside of the heap, where V8 keeps small arrays until their buffer is used. */
function pinned(buffer: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset, buffer.byteLength);
}
