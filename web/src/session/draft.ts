/** The message that is being written: kept by the daemon, and in the browser until it has it. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Client } from "../rpc/client.ts";

const SAVE_AFTER_MS = 300;

export class Draft {
  readonly #client: Client;
  readonly #session_id: string;
  /** Tells changes of this page from those of others. */
  readonly #writer = crypto.randomUUID();
  readonly #text = signal("");
  #unsaved = false;
  /** What the daemon removed, as it does when the session ends. */
  removed = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client, session_id: string) {
    this.#client = client;
    this.#session_id = session_id;
    const left = this.#left();
    if (left === "") return;
    this.#text.value = left;
    this.#unsaved = true;
  }

  get text(): ReadonlySignal<string> {
    return this.#text;
  }

  /** Changes the draft here, and soon in the daemon. */
  write(text: string): void {
    if (text === this.#text.peek()) return;
    this.#text.value = text;
    this.removed = "";
    this.#unsaved = true;
    this.#leave(text);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.save(), SAVE_AFTER_MS);
  }

  /** Takes what the daemon has, unless there is something that it does not have yet. */
  async load(): Promise<void> {
    if (this.#unsaved) return this.save();
    const { text } = await this.#client.ask("draft.get", { session_id: this.#session_id });
    if (!this.#unsaved) this.#take(text, undefined);
  }

  /** Gives the daemon what it does not have yet; what it refuses stays in the browser. */
  async save(): Promise<void> {
    clearTimeout(this.#timer);
    if (!this.#unsaved) return;
    const text = this.#text.peek();
    try {
      const params = { session_id: this.#session_id, text, writer: this.#writer };
      await this.#client.ask("draft.set", params);
    } catch {
      return;
    }
    if (text !== this.#text.peek()) return;
    this.#unsaved = false;
    this.#leave("");
  }

  /** Follows what other pages write. @returns what ends it. */
  follow(): () => void {
    const leave = this.#client.subscribe("draft.follow", {
      params: () => {
        // Other pages may have written while this one was not connected.
        this.load().catch(() => {});
        return { session_id: this.#session_id };
      },
      event: ({ data }) => {
        const { text, writer } = data as { text: string; writer?: string };
        if (writer !== this.#writer && !this.#unsaved) this.#take(text, writer);
      },
      ended() {},
    });
    const save = () => void this.save();
    addEventListener("pagehide", save);
    return () => {
      removeEventListener("pagehide", save);
      leave();
      save();
    };
  }

  #take(text: string, writer: string | undefined): void {
    const before = this.#text.peek();
    if (text === before) return;
    this.removed = writer === undefined && text === "" ? before : "";
    this.#text.value = text;
  }

  get #key(): string {
    return `svc.draft.${this.#session_id}`;
  }

  #left(): string {
    try {
      return localStorage.getItem(this.#key) ?? "";
    } catch {
      return "";
    }
  }

  #leave(text: string): void {
    try {
      if (text === "") localStorage.removeItem(this.#key);
      else localStorage.setItem(this.#key, text);
    } catch {
      // The daemon has it soon.
    }
  }
}
