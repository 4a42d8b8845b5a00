/** The sessions of the daemon, kept up to date while the page is looked at. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Client } from "../rpc/client.ts";
import type { Result } from "../rpc/api.ts";
import { firstSessions } from "../rpc/connect.ts";
import { Live } from "../rpc/live.ts";
import { ordered } from "./groups.ts";

export type SessionItem = Result<"session.list">["sessions"][number];

/** The daemon has the answer at hand: asking is cheap. */
const POLL_MS = 1_500;

export class SessionList {
  /** Without a value before the first answer. */
  readonly live: Live<readonly SessionItem[]>;
  /** Ended sessions are listed too. */
  readonly with_ended = signal(false);
  /** Archived sessions are listed too. */
  readonly with_archived = signal(false);
  /** Approvals that wait anywhere. */
  readonly pending = computed(() =>
    (this.items.value ?? []).reduce((sum, it) => sum + it.pending_approvals_count, 0)
  );

  constructor(client: Client) {
    this.live = new Live(client, {
      ask: async () => {
        const include_ended = this.with_ended.peek();
        const include_archived = this.with_archived.peek();
        const { sessions } = await client.ask("session.list", { include_ended, include_archived });
        return ordered(sessions);
      },
      every_ms: POLL_MS,
    });
  }

  get items(): ReadonlySignal<readonly SessionItem[] | undefined> {
    return this.live.value;
  }

  /** Keeps the list up to date. @returns resolves when what boot.ts asked for is there. */
  async start(): Promise<void> {
    this.live.start();
    const first = await firstSessions();
    if (first !== undefined && this.items.peek() === undefined) {
      this.live.take(ordered(first.sessions));
    }
  }

  /** Asks now. @returns when there is an answer at least as new as this call, or a failure. */
  refresh(): Promise<void> {
    return this.live.refresh();
  }
}
