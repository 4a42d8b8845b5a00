/** The sessions of the daemon, kept up to date while the page is looked at. */
import { computed, signal } from "@preact/signals";
import type { Client } from "../rpc/client.ts";
import { explain, type Result } from "../rpc/api.ts";
import { firstSessions } from "../rpc/connect.ts";

export type SessionItem = Result<"session.list">["sessions"][number];

/** The daemon has the answer at hand: asking is cheap. */
const POLL_MS = 1_500;

export class SessionList {
  readonly #client: Client;
  readonly #items = signal<readonly SessionItem[] | undefined>(undefined);
  #json = "";
  #asking: Promise<void> | undefined;
  /** Ended sessions are listed too. */
  readonly with_ended = signal(false);
  /** Why there is no list. */
  readonly error = signal<string | undefined>(undefined);
  /** Undefined before the first answer; the one that changed last comes first. */
  readonly items = this.#items;
  /** Approvals that wait anywhere. */
  readonly pending = computed(() =>
    (this.#items.value ?? []).reduce((sum, it) => sum + it.pending_approvals, 0)
  );

  constructor(client: Client) {
    this.#client = client;
  }

  /** Keeps the list up to date. @returns resolves when what boot.ts asked for is there. */
  async start(): Promise<void> {
    this.#client.state.subscribe((state) => {
      if (state === "connected") this.refresh();
    });
    setInterval(() => {
      if (document.visibilityState === "visible") this.refresh();
    }, POLL_MS);
    document.addEventListener("visibilitychange", () => this.refresh());
    const first = await firstSessions();
    if (first !== undefined && this.#items.peek() === undefined) this.#take(first.sessions);
  }

  /** Asks now; calls that come while it asks share the answer. */
  refresh(): Promise<void> {
    if (this.#client.state.peek() !== "connected") return Promise.resolve();
    return this.#asking ??= this.#ask().finally(() => this.#asking = undefined);
  }

  async #ask(): Promise<void> {
    try {
      const include_ended = this.with_ended.peek();
      const { sessions } = await this.#client.call("session.list", { include_ended });
      this.error.value = undefined;
      this.#take(sessions);
    } catch (error) {
      this.error.value = explain(error);
    }
  }

  #take(sessions: SessionItem[]): void {
    const json = JSON.stringify(sessions);
    if (json === this.#json) return;
    this.#json = json;
    this.#items.value = sessions.sort((a, b) => a.last_event_at < b.last_event_at ? 1 : -1);
  }
}
