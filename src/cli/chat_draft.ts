/** The draft of a session: what a terminal, or a page, leaves unsent is there in the next. */
import type { RpcClient } from "../client/rpc.ts";
import { DRAFT_MAX } from "../features/drafts/limits.ts";
import { within } from "../base/within.ts";

/** Where the person writes. */
export interface Writing {
  /** What is being written. */
  read(): string;
  /** Shows what was written elsewhere. */
  show(text: string): void;
  /** Keeps what was written before, where the person has begun something else by now. */
  keep(text: string): void;
}

const SAVE_AFTER_MS = 300;
/** How long the last save may take. */
const LAST_MS = 1_000;

export class ChatDraft {
  readonly #session_id: string;
  readonly #writing: Writing;
  /** Tells changes from here from those of others. */
  readonly #writer = crypto.randomUUID();
  #rpc: RpcClient | undefined;
  /** What the daemon has; undefined until it was asked. */
  #kept: string | undefined;
  #timer: number | undefined;

  constructor(session_id: string, writing: Writing) {
    this.#session_id = session_id;
    this.#writing = writing;
  }

  /** Follows the draft over a connection. */
  async open(rpc: RpcClient): Promise<void> {
    this.#rpc = rpc;
    const is_first = this.#kept === undefined;
    const untouched = this.#writing.read() === (this.#kept ?? "");
    const { text } = await rpc.call("draft.follow", { session_id: this.#session_id });
    // What was typed meanwhile is newer than what the daemon has.
    const now = this.#writing.read();
    const newer = !untouched || now !== (this.#kept ?? "");
    if (is_first && newer && text !== "" && text !== now) this.#writing.keep(text);
    this.#kept = text;
    if (newer) this.changed();
    else if (text !== this.#writing.read()) this.#writing.show(text);
  }

  /** Takes a change that the daemon tells about. */
  take({ text, writer }: { text: string; writer?: string }): void {
    if (writer === this.#writer) return;
    const untouched = this.#writing.read() === this.#kept;
    this.#kept = text;
    if (untouched) this.#writing.show(text);
  }

  /** Something may have been written. */
  changed(): void {
    if (this.#timer !== undefined || this.#kept === undefined) return;
    this.#timer = setTimeout(() => void this.#save(), SAVE_AFTER_MS);
  }

  /** Saves what is left, as far as the daemon can be reached. */
  async close(): Promise<void> {
    await within(this.#save(), LAST_MS);
    clearTimeout(this.#timer);
  }

  async #save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#writing.read();
    const session_id = this.#session_id;
    if (this.#rpc === undefined || text === this.#kept || text.length > DRAFT_MAX) return;
    const before = this.#kept;
    this.#kept = text;
    try {
      await this.#rpc.call("draft.set", { session_id, text, writer: this.#writer });
    } catch {
      // The next connection takes it.
      if (this.#kept === text) this.#kept = before;
    }
  }
}
