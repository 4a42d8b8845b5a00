/** The sessions of the daemon, kept up to date while the page is looked at. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Client } from "../rpc/client.ts";
import type { Result } from "../rpc/api.ts";
import { firstSessions } from "../rpc/connect.ts";
import { Live } from "../rpc/live.ts";
import { ordered } from "./groups.ts";

export type SessionItem = Result<"session.list">["sessions"][number];
export type AskedItem = Result<"approvals.list">["approvals"][number];

/** The most questions that are asked for. */
const ASKED_MAX = 1_000;

/** The daemon has the answer at hand: asking is cheap. */
const POLL_MS = 1_500;

/** Names what a list is asked for. */
function ofList(include_ended: boolean, include_archived: boolean): string {
  return `${include_ended} ${include_archived}`;
}

/** What boot.ts asks for. */
const OF_FIRST = ofList(false, false);

export class SessionList {
  /** Without a value before the first answer. */
  readonly live: Live<readonly SessionItem[]>;
  /** Ended sessions are listed too. */
  readonly with_ended = signal(false);
  /** Archived sessions are listed too. */
  readonly with_archived = signal(false);
  /** The questions that wait, also those of sessions that are not listed; the oldest first. */
  readonly asked: Live<readonly AskedItem[]>;
  /** How many wait anywhere. */
  readonly pending = computed(() =>
    // The list comes with the page.
    this.asked.value.value?.length ??
      (this.items.value ?? []).reduce((sum, it) => sum + it.pending_approvals_count, 0)
  );

  /** The last answer, and what it was asked for. */
  #answer: { of: string; tag: string; items: readonly SessionItem[] } | undefined;

  /** Settles with what boot.ts asked for. */
  #began: Promise<void> | undefined;

  constructor(client: Client) {
    this.live = new Live(client, {
      ask: () => this.#ask(client),
      every_ms: POLL_MS,
    });
    this.asked = new Live(client, {
      ask: async () => (await client.ask("approvals.list", { limit: ASKED_MAX })).approvals,
      types: ["approval.requested", "approval.resolved"],
      every_ms: POLL_MS,
    });
  }

  /** Asks for what has changed since the last answer; items that have not stay the same objects. */
  async #ask(client: Client): Promise<readonly SessionItem[]> {
    // Asked before, all of it would come twice.
    await this.#began;
    const include_ended = this.with_ended.peek();
    const include_archived = this.with_archived.peek();
    const of = ofList(include_ended, include_archived);
    const before = this.#answer?.of === of ? this.#answer : undefined;
    const { sessions, tag = "", gone = [], whole = true } = await client.ask("session.list", {
      include_ended,
      include_archived,
      since: before?.tag ?? "",
    });
    if (before !== undefined && !whole && sessions.length + gone.length === 0) {
      this.#answer = { ...before, tag };
      return before.items;
    }
    const all = new Map(whole ? [] : before?.items.map((it) => [it.id, it]));
    for (const id of gone) all.delete(id);
    for (const item of sessions) all.set(item.id, item);
    const items = ordered([...all.values()]);
    this.#answer = { of, tag, items };
    return items;
  }

  get items(): ReadonlySignal<readonly SessionItem[] | undefined> {
    return this.live.value;
  }

  /** Keeps the list up to date. @returns resolves when what boot.ts asked for is there. */
  async start(): Promise<void> {
    this.#began = firstSessions().then((first) => {
      if (first === undefined) return;
      const items = ordered(first.sessions);
      this.#answer = { of: OF_FIRST, tag: first.tag ?? "", items };
      this.live.take(items);
    });
    this.live.start();
    this.asked.start();
    await this.#began;
  }

  /** Asks now. @returns when there is an answer at least as new as this call, or a failure. */
  refresh(): Promise<void> {
    return this.live.refresh();
  }
}
