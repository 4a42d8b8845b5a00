/**
 * Room in memory for large answers: from when one begins to be made until its reader has it. A call
 * waits for room; what waits costs no more than its request.
 */
import { delay } from "@std/async";
import { collectGarbage } from "../os/memory.ts";

/** The most characters of large answers under way in a daemon. */
const ROOM = 32 * 1024 * 1024;
/** How many are made at once: their parts take several times their size, and one may be slow. */
const MADE_AT_ONCE = 2;
/** Characters after which it is looked at what is left of them in memory. */
const LOOKED_AT = 32 * 1024 * 1024;
/** The memory of this process, in bytes, above which that is collected: V8 waits until it has doubled. */
const HIGH = 400 * 1024 * 1024;
/** How long a reader may leave an answer unread while others wait for its room, in milliseconds. */
const UNREAD_MS = 15_000;

/** What a call needs of the request that it belongs to. */
export interface Asking {
  readonly signal: AbortSignal;
  /** Ends the connection, if it reads nothing. */
  cut?(): void;
}

/** The room of one daemon, or of one process that answers. */
export class AnswerRoom {
  readonly #holders = new Set<Holder>();
  #waiting: (() => void)[] = [];
  #timer: number | undefined;
  #made = 0;

  /**
   * Waits for room.
   *
   * @param reserved what the answer counts as until its size is known, in characters
   * @throws the signal's reason when the request has gone
   */
  async enter(asking: Asking, reserved: number): Promise<Held> {
    // Others get their turn between two large answers.
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
      // Who was woken too early keeps its place.
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

  /** Who has gone passes on that there is room. */
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
    // One alone may be larger than all the room.
    return making <= MADE_AT_ONCE && (size <= ROOM || this.#holders.size === 0);
  }

  #wake(): void {
    this.#waiting.shift()?.();
  }

  /** Gives room to those that wait: a reader that never reads must not keep it. */
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
  /** When it was made. */
  since: number;
  cut: (() => void) | undefined;
}

/** Room that an answer has. */
export interface Held {
  /** Call it when the answer is made, with its size in characters. */
  made(chars: number): void;
  /** Call it when its reader has it, or never will. */
  leave(): void;
}
