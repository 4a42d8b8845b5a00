import { SvcError } from "../../protocol/errors.ts";
import { Subscriptions } from "../../verbs/subscriptions.ts";
import { type Calling, callVerb } from "../call.ts";
import { parseUri } from "./uris.ts";

/** Most resources watched per client. */
const WATCHES_MAX = 256;
/** Shortest interval between two reports about a resource. */
const EVERY_MS = 200;

interface Watch {
  subscriptions: Subscriptions;
  timer?: number;
}

/** Reports changes of resources to one client. */
export class Watches {
  readonly #updated: (uri: string) => void;
  #watches = new Map<string, Watch>();

  /** @param updated called with the URI of a changed resource */
  constructor(updated: (uri: string) => void) {
    this.#updated = updated;
  }

  /**
   * Watches a session's resource; a second call changes nothing.
   *
   * @throws {SvcError} validation for other resources; not_found; conflict when there are too many
   */
  async add(uri: string, calling: Calling): Promise<void> {
    const watch: Watch = {
      subscriptions: new Subscriptions({
        event: () => this.#changed(uri, watch),
        // The session's end was reported like other events.
        ended: () => {},
      }),
    };
    const push = watch.subscriptions.channel();
    const asked = { session_id: sessionOf(uri), deltas: "session" } as const;
    const caller = { ...calling.caller, push };
    await callVerb("session.subscribe", asked, { ...calling, caller });
    if (this.#watches.has(uri)) return watch.subscriptions.close();
    if (this.#watches.size >= WATCHES_MAX) {
      watch.subscriptions.close();
      throw new SvcError("conflict", `a client can watch at most ${WATCHES_MAX} resources`, {
        hint: "end one with resources/unsubscribe",
      });
    }
    this.#watches.set(uri, watch);
    push.start();
  }

  /** Stops watching, if it is watched. */
  remove(uri: string): void {
    const watch = this.#watches.get(uri);
    if (watch === undefined) return;
    watch.subscriptions.close();
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
