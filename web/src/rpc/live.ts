/** An answer of the daemon that is asked for anew whenever it may be another one. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { explain } from "./api.ts";
import type { Client } from "./client.ts";

/** Events that come together are one reason to ask. */
const SETTLE_MS = 200;

export interface LiveOptions<T> {
  ask(): Promise<T>;
  /** The events that change the answer, as `bus.tail` takes their types. */
  types?: string[];
  /** How often it is asked besides, while the page is looked at: for what no event tells. */
  every_ms: number;
}

export class Live<T> {
  readonly #client: Client;
  readonly #options: LiveOptions<T>;
  readonly #value = signal<T | undefined>(undefined);
  readonly #error = signal<string | undefined>(undefined);
  /** Of the value, to tell whether an answer is another one. */
  #json: string | undefined;
  #asking: Promise<void> | undefined;
  /** Asked for while it was being asked: the answer under way may be too old. */
  #again = false;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client, options: LiveOptions<T>) {
    this.#client = client;
    this.#options = options;
  }

  /** Undefined before the first answer. */
  get value(): ReadonlySignal<T | undefined> {
    return this.#value;
  }

  /** Why the last time gave no answer. */
  get error(): ReadonlySignal<string | undefined> {
    return this.#error;
  }

  /** Asks, and goes on asking. @returns what ends it. */
  start(): () => void {
    const { types, every_ms } = this.#options;
    const leave = types === undefined ? undefined : this.#client.subscribe("bus.tail", {
      params: () => ({ types }),
      event: () => this.#settle(),
      // Without the bus it is asked now and then.
      ended: () => {},
    });
    const forget = this.#client.state.subscribe((state) => {
      if (state === "connected") this.refresh();
    });
    const look = () => {
      if (document.visibilityState === "visible") this.refresh();
    };
    const timer = setInterval(look, every_ms);
    document.addEventListener("visibilitychange", look);
    return () => {
      this.#closed = true;
      leave?.();
      forget();
      clearInterval(timer);
      clearTimeout(this.#timer);
      document.removeEventListener("visibilitychange", look);
    };
  }

  /** Takes an answer that came with something else. */
  take(value: T): void {
    if (value === this.#value.peek()) return;
    const json = JSON.stringify(value);
    if (json === this.#json) return;
    this.#json = json;
    this.#value.value = value;
  }

  /** Asks now. @returns when there is an answer at least as new as this call, or a failure. */
  refresh(): Promise<void> {
    if (this.#asking === undefined) {
      this.#asking = this.#ask().finally(() => this.#asking = undefined);
    } else this.#again = true;
    return this.#asking;
  }

  #settle(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.refresh();
    }, SETTLE_MS);
  }

  async #ask(): Promise<void> {
    do {
      this.#again = false;
      try {
        const value = await this.#options.ask();
        if (this.#closed) return;
        this.#error.value = undefined;
        this.take(value);
      } catch (error) {
        if (!this.#closed) this.#error.value = explain(error);
      }
    } while (this.#again && !this.#closed);
  }
}
