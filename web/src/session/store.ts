/** One session as it is seen: what the journal has, then what happens, in order and once. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import type { SessionEvent } from "../../../src/protocol/events.ts";
import type { SessionState } from "../../../src/session/session_state.ts";
import { applyToState, emptyState } from "../../../src/session/state.ts";
import type { Withdrawn } from "../../../src/features/chat_commands/stop_turn.ts";
import type { Change } from "../../../src/session/view.ts";
import { ViewList } from "../../../src/session/view_list.ts";
import type { Client } from "../rpc/client.ts";
import { explain, type PushedEvent, RpcError } from "../rpc/api.ts";
import type { AskedDiffProps } from "./asked_changes.ts";
import { Draft } from "./draft.ts";

/**
 * What happens is drawn so far apart: with the rows that are measured then, and the scrolling after
 * them, that stays below ten repaints a second.
 */
const REPAINT_MS = 125;
const PAGE = 20_000;

/** A session as far as its events were read. */
type Read = ReturnType<typeof unread>;

function unread(id: string) {
  return {
    state: emptyState(id),
    conversation: new ViewList(),
    /** When the running turn began, later by what it waited for since; as far as it is known. */
    turn_at: NaN,
    /** Since when it waits for a person or an account. */
    waits_from: undefined as number | undefined,
  };
}

export class SessionStore {
  readonly id: string;
  readonly #client: Client;
  readonly #onChanges: (changes: readonly Change[]) => void;
  readonly #prepare: (state: SessionState) => Promise<void>;
  readonly #version = signal(0);
  #read: Read;
  #leave = () => {};
  #closed = false;
  #paint: ReturnType<typeof setTimeout> | undefined;
  /** What draws the changes of a question, if one waited when the session was opened. */
  asked_diff: ComponentType<AskedDiffProps> | undefined;
  /** What the journal had is there. */
  readonly loaded = signal(false);
  /** The message that is being written. */
  readonly draft: Draft;
  /** Grows when the composer is to take the focus: its text was put there. */
  readonly edits = signal(0);
  /** Queued messages that were taken back, for the composer. */
  readonly returned = signal<readonly Withdrawn[]>([]);
  /** It was deleted while it was shown. */
  readonly deleted = signal(false);
  /** Why there is nothing to show. */
  readonly error = signal<string | undefined>(undefined);
  /** All cards are open, also those that come. */
  readonly #all = signal(false);
  /** Tool cards that were opened or closed, by the keys of their items. */
  readonly #toggled = signal<ReadonlyMap<string, boolean>>(new Map());

  /**
   * @param onChanges told how the conversation changes while it is open.
   * @param prepare waited for before what the journal has is shown.
   */
  constructor(
    client: Client,
    id: string,
    onChanges: (changes: readonly Change[]) => void = () => {},
    prepare: (state: SessionState) => Promise<void> = () => Promise.resolve(),
  ) {
    this.#client = client;
    this.id = id;
    this.#onChanges = onChanges;
    this.#prepare = prepare;
    this.#read = unread(id);
    this.draft = new Draft(client, id);
  }

  /** Grows when what happened is to be drawn. */
  get version(): number {
    return this.#version.value;
  }

  /** What the session is in; who reads it to draw it draws again when the store says so. */
  get state(): SessionState {
    this.#version.value;
    return this.#read.state;
  }

  /** What is shown; who reads it to draw it draws again when the store says so. */
  get conversation(): ViewList {
    this.#version.value;
    return this.#read.conversation;
  }

  /** Whether a tool card was opened; undefined when nobody did anything to it. */
  isOpen(key: string): boolean | undefined {
    return this.#toggled.value.get(key) ?? (this.#all.value || undefined);
  }

  /** Opens or closes a tool card. */
  toggle(key: string, open: boolean): void {
    this.#toggled.value = new Map(this.#toggled.peek()).set(key, open);
  }

  /**
   * Opens all cards, or folds those that there are: one that comes shows by itself what it must.
   *
   * @returns whether they are open
   */
  fold(): boolean {
    const open = this.#all.value = !this.#all.peek();
    const { items } = this.#read.conversation;
    this.#toggled.value = new Map(open ? [] : items.map(({ key }) => [key, false]));
    return open;
  }

  /** How long the running turn has worked, without its waits; NaN when it is not known. */
  workedMs(now: number): number {
    this.#version.value;
    const { turn_at, waits_from = now } = this.#read;
    return waits_from - turn_at;
  }

  /** Has the composer take a message to change and send again, above what is being written. */
  edit(message: Withdrawn): void {
    this.giveBack([message]);
    this.edits.value++;
  }

  /** Has the composer take messages that are no longer queued. */
  giveBack(messages: readonly Withdrawn[]): void {
    this.returned.value = [...this.returned.peek(), ...messages];
  }

  /**
   * Loads what happened and follows what happens. What is shown stays until all of it is there: an
   * empty conversation in between would be scrolled to its beginning, without focus and selection.
   */
  async open(): Promise<void> {
    this.error.value = undefined;
    this.#leave();
    try {
      const read = await this.#load();
      await this.#prepare(read.state);
      if (this.#closed) return;
      this.#read = read;
      this.#follow();
      this.loaded.value = true;
      this.#version.value++;
    } catch (error) {
      // It was rewritten between two pages.
      if (error instanceof RpcError && error.code === "journal_trimmed") return this.open();
      this.#fail(error);
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#paint);
    this.#leave();
  }

  async #load(): Promise<Read> {
    const read = unread(this.id);
    for (let more = true, since_seq = 0; more && !this.#closed;) {
      const page = await this.#client.ask("session.history", {
        session_id: this.id,
        since_seq,
        limit: PAGE,
        deltas: "session",
      });
      for (const event of page.events) this.#apply(event, read);
      // The fold has seen less than was read: the other form of the text was left out.
      read.state.last_seq = since_seq = page.last_seq;
      more = page.more;
    }
    return read;
  }

  #follow(): void {
    this.#leave = this.#client.subscribe("session.subscribe", {
      params: () => ({
        session_id: this.id,
        since_seq: this.#read.state.last_seq,
        deltas: "session" as const,
      }),
      event: (event) => this.#take(event),
      ended: (error) => this.#ended(error),
    });
  }

  #take(event: PushedEvent): void {
    if (event.seq! <= this.#read.state.last_seq) return;
    this.#onChanges(this.#apply(event as unknown as SessionEvent));
    this.#paint ??= setTimeout(() => {
      this.#paint = undefined;
      this.#version.value++;
    }, REPAINT_MS);
  }

  #apply(event: SessionEvent, read = this.#read): Change[] {
    const { state } = read;
    applyToState(state, event);
    const at = Date.parse(event.at);
    if (event.type === "turn.started") {
      read.turn_at = at;
      read.waits_from = undefined;
    }
    if (state.pending_approvals.length > 0 || state.turn?.parked) read.waits_from ??= at;
    else if (read.waits_from !== undefined) {
      read.turn_at += at - read.waits_from;
      read.waits_from = undefined;
    }
    return read.conversation.apply(event);
  }

  #ended(error: RpcError | undefined): void {
    // Away for longer than retention keeps, or the journal is another one: from its beginning.
    if (error?.code === "journal_trimmed" || error?.code === "validation") this.open();
    else if (error !== undefined) this.#fail(error);
    // One that is deleted is ended first, and not found after that.
    else this.#client.ask("session.get", { session_id: this.id }).catch((it) => this.#fail(it));
  }

  #fail(error: unknown): void {
    // What is shown and written stays in sight.
    if (this.loaded.peek() && error instanceof RpcError && error.code === "not_found") {
      this.deleted.value = true;
    } else this.error.value = explain(error);
  }
}
