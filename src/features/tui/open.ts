/** The terminal UI's instances in a daemon. Loaded at the first tui.* call. */
import { joined } from "../../base/text_slices.ts";
import type { Hub } from "../../session/hub.ts";
import { toSvcError } from "../../protocol/errors.ts";
import { Subscriptions } from "../../verbs/subscriptions.ts";
import type { Link } from "./client.ts";
import type { Params, Result, VerbName } from "../verb_types.ts";
import { TuiHost } from "./host.ts";
import { type Caller, type Dispatcher, type Pushed, resultJson } from "../../verbs/define.ts";

/**
 * Creates the host of a daemon's interfaces.
 *
 * @param onEmpty called when the last one without a terminal is released.
 */
export function openTuiHost(dispatcher: Dispatcher, onEmpty: () => void): TuiHost {
  return new TuiHost({ newLink: () => new VerbLink(dispatcher), onEmpty });
}

/** A link that calls the verbs of this process. */
class VerbLink implements Link, Disposable {
  onEvent: Link["onEvent"] = () => {};
  onSubscriptionEnded: Link["onSubscriptionEnded"] = () => {};
  readonly #dispatcher: Dispatcher;
  readonly #gone = new AbortController();
  readonly #subscriptions = new Subscriptions({
    event: (_sub, event) => this.onEvent(plain(event)),
    ended: (_sub, error) => this.onSubscriptionEnded(error),
  });

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  get lost(): boolean {
    return this.#gone.signal.aborted;
  }

  async call<N extends VerbName>(method: N, params: Params<N>): Promise<Result<N>> {
    const push = this.#subscriptions.channel();
    const caller: Caller = { via: "tui", push };
    const verb = this.#dispatcher.verbs.get(method)!;
    try {
      const result = await this.#dispatcher.run(verb, params, caller, this.#gone);
      // A result may be the daemon's own state, so a copy leaves it.
      return JSON.parse(joined(resultJson(result)));
    } catch (error) {
      throw toSvcError(error);
    } finally {
      push.start();
    }
  }

  [Symbol.dispose](): void {
    this.#gone.abort();
    this.#subscriptions.close();
  }
}

function plain({ session_id, seq, at, type, data_json }: Pushed) {
  return { session_id, seq, at, type, data: JSON.parse(data_json) };
}

export interface TuiServices {
  readonly hub: Hub;
  /** The instances, loaded on first use. */
  tui(): Promise<TuiHost>;
}
