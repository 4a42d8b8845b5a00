import { SvcError } from "../../protocol/errors.ts";
import type { Subscription } from "../../session/subscription.ts";
import type { Hub } from "../../session/hub.ts";
import { parseUri } from "./uris.ts";

/** The most resources that one client may watch. */
const WATCHES_MAX = 256;
/** The shortest interval between two reports about a resource. */
const EVERY_MS = 200;

interface Watch {
  subscription: Subscription;
  timer?: number;
}

/** The resources whose changes are reported to one client. */
export class Watches {
  readonly #hub: Hub;
  readonly #updated: (uri: string) => void;
  #watches = new Map<string, Watch>();

  /** @param updated called with the address of a resource that has changed */
  constructor(hub: Hub, updated: (uri: string) => void) {
    this.#hub = hub;
    this.#updated = updated;
  }

  /**
   * Reports the changes of a session's resource from now on; a second call changes nothing.
   *
   * @throws {SvcError} validation for a resource that is not a session's; not_found; conflict when
   * there are too many
   */
  async add(uri: string): Promise<void> {
    const session_id = sessionOf(uri);
    const session = await this.#hub.get(session_id);
    if (this.#watches.has(uri)) return;
    if (this.#watches.size >= WATCHES_MAX) {
      throw new SvcError("conflict", `a client can watch at most ${WATCHES_MAX} resources`, {
        hint: "end one with resources/unsubscribe",
      });
    }
    const watch: Watch = {
      subscription: session.subscribe({
        deliver: () => this.#changed(uri, watch),
        // The end of the session has been reported like every other event.
        ended: () => {},
      }, { since_seq: session.published_seq, deltas: "session" }),
    };
    this.#watches.set(uri, watch);
    watch.subscription.start();
  }

  /** Stops reporting; does nothing for a resource that is not watched. */
  remove(uri: string): void {
    const watch = this.#watches.get(uri);
    if (watch === undefined) return;
    watch.subscription.close();
    clearTimeout(watch.timer);
    this.#watches.delete(uri);
  }

  close(): void {
    for (const uri of [...this.#watches.keys()]) this.remove(uri);
  }

  #changed(uri: string, watch: Watch): void {
    watch.timer ??= setTimeout(() => {
      watch.timer = undefined;
      this.#updated(uri);
    }, EVERY_MS);
  }
}

function sessionOf(uri: string): string {
  const at = parseUri(uri);
  if ("session_id" in at) return at.session_id;
  if (at.kind === "one" && at.collection.name === "sessions") return at.id;
  throw new SvcError("validation", `${uri} cannot be subscribed to`, {
    hint: "subscribe to a session, its transcript, its journal or its lanes",
  });
}
