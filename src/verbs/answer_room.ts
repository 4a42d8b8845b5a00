/** Memory for large answers, from creation until their reader has them. Calls wait for room. */
import { delay } from "@std/async";
import { collectGarbage } from "../os/memory.ts";

/** Most characters of large answers in a daemon. */
const ROOM = 32 * 1024 * 1024;
/** Answers made at once: their parts take several times their size. */
const MADE_AT_ONCE = 2;
/** Characters of answers between two checks of the memory. */
const LOOKED_AT = 32 * 1024 * 1024;
/** Bytes of memory above which garbage is collected: V8 waits until it has doubled. */
const HIGH = 400 * 1024 * 1024;
/** How long a reader may leave an answer unread while others wait, in milliseconds. */
const UNREAD_MS = 15_000;

/** The request that a call belongs to. */
export interface Asking {
  readonly signal: AbortSignal;
  /** Ends the connection if its client reads nothing. */
  cut?(): void;
}

export class AnswerRoom {
  readonly #holders = new Set<Holder>();
  #waiting: (() => void)[] = [];
  #timer: number | undefined;
  #made = 0;

  /**
   * Waits for room.
   *
   * @param reserved characters to count until the answer's size is known
   * @throws the signal's reason when the request is aborted
   */
  async enter(asking: Asking, reserved: number): Promise<Held> {
    // Lets other work run between two large answers.
    await delay(0);
    let holder: Holder;
    try {
      holder = await this.#wait(asking, reserved);
    } finally {
      this.#restIfNobodyWaits();
    }
    return {
      made: (chars) => {
        this.#collect(chars);
        Object.assign(holder, { size: chars, making: false, since: performance.now() });
        this.#wake();
      },
      leave: () => {
        if (this.#holders.delete(holder)) this.#wake();
      },
    };
  }

  async #wait(asking: Asking, reserved: number): Promise<Holder> {
    for (let first = true; !this.#hasRoom(reserved); first = false) {
      this.#throwIfGone(asking);
      const woken = Promise.withResolvers<void>();
      const wake = () => woken.resolve();
      // A call woken too early keeps its place.
      if (first) this.#waiting.push(wake);
      else this.#waiting.unshift(wake);
      asking.signal.addEventListener("abort", wake, { once: true });
      this.#timer ??= setTimeout(() => this.#cutOldest(), UNREAD_MS);
      await woken.promise;
      asking.signal.removeEventListener("abort", wake);
      this.#waiting = this.#waiting.filter((it) => it !== wake);
    }
    this.#throwIfGone(asking);
    const holder: Holder = { size: reserved, making: true, since: 0, cut: asking.cut };
    this.#holders.add(holder);
    this.#wake();
    return holder;
  }

  #restIfNobodyWaits(): void {
    if (this.#waiting.length > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Wakes the next call if this one is aborted. */
  #throwIfGone({ signal }: Asking): void {
    if (signal.aborted) this.#wake();
    signal.throwIfAborted();
  }

  #collect(chars: number): void {
    this.#made += chars;
    if (this.#made < LOOKED_AT) return;
    this.#made = 0;
    if (Deno.memoryUsage().rss > HIGH) collectGarbage(false);
  }

  #hasRoom(reserved: number): boolean {
    let size = reserved;
    let making = 1;
    for (const holder of this.#holders) {
      size += holder.size;
      if (holder.making) making++;
    }
    // A single answer may be larger than the room.
    return making <= MADE_AT_ONCE && (size <= ROOM || this.#holders.size === 0);
  }

  #wake(): void {
    this.#waiting.shift()?.();
  }

  /** Frees the room of a reader that does not read. */
  #cutOldest(): void {
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    const now = performance.now();
    for (const holder of [...this.#holders]) {
      if (holder.making || holder.cut === undefined || now - holder.since < UNREAD_MS) continue;
      this.#holders.delete(holder);
      holder.cut();
    }
    this.#wake();
    this.#timer = setTimeout(() => this.#cutOldest(), UNREAD_MS / 2);
  }
}

interface Holder {
  size: number;
  making: boolean;
  /** Time of creation. */
  since: number;
  cut: (() => void) | undefined;
}

/** Room held by an answer. */
export interface Held {
  /** Call when the answer is made, with its characters. */
  made(chars: number): void;
  /** Call when the reader has it, or never will. */
  leave(): void;
}
