/** What kind of daemon is at the other end: one that runs by itself, or a desktop shell's own. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { Client } from "./rpc/client.ts";

export class DaemonKind {
  readonly #client: Client;
  readonly #bundled = signal<boolean | undefined>(undefined);

  constructor(client: Client) {
    this.#client = client;
  }

  /** Whether a desktop shell brought it; undefined until the first one has said so. */
  get bundled(): ReadonlySignal<boolean | undefined> {
    return this.#bundled;
  }

  /** Asks at each connection: another daemon may have taken the place of the one before. */
  start(): void {
    effect(() => {
      if (this.#client.state.value !== "connected") return;
      this.#client.call("daemon.info", {})
        .then(({ sidecar }) => this.#bundled.value = sidecar, () => {});
    });
  }
}
