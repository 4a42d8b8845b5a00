/**
 * What kind of daemon is at the other end: one that runs by itself, or a desktop shell's own; of the
 * page's version, or of another one since an update.
 */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { Client } from "./rpc/client.ts";

export class DaemonKind {
  readonly #client: Client;
  readonly #bundled = signal<boolean | undefined>(undefined);
  /** Of the daemon that the page came from. */
  #version: string | undefined;
  readonly #updated = signal(false);

  constructor(client: Client) {
    this.#client = client;
  }

  /** Whether a desktop shell brought it; undefined until the first one has said so. */
  get bundled(): ReadonlySignal<boolean | undefined> {
    return this.#bundled;
  }

  /** Whether the daemon is of another version than the page: it may not have the page's files. */
  get updated(): ReadonlySignal<boolean> {
    return this.#updated;
  }

  /** Asks at each connection: another daemon may have taken the place of the one before. */
  start(): void {
    effect(() => {
      if (this.#client.state.value !== "connected") return;
      this.#client.call("daemon.info", {})
        .then(({ sidecar, version }) => {
          this.#bundled.value = sidecar;
          this.#version ??= version;
          this.#updated.value = version !== this.#version;
        }, () => {});
    });
  }
}
