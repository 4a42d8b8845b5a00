/** Events of a subscription as an iterable. */
import type { SvcError } from "../protocol/errors.ts";
import type { PushChannel, Pushed } from "./define.ts";
import { Subscriptions } from "./subscriptions.ts";

/**
 * Subscribes. Each event is delivered when the last one was taken.
 *
 * @param subscribe calls the verb over the channel
 * @param signal ends the iteration
 * @returns the events; throws the subscription's error there
 */
export async function pushedBy(
  subscribe: (push: PushChannel) => Promise<unknown>,
  signal: AbortSignal,
): Promise<AsyncGenerator<Pushed>> {
  const waiting: Pushed[] = [];
  let end: { error?: SvcError } | undefined;
  let wake = () => {};
  let take = () => {};
  const subscriptions = new Subscriptions({
    event(_sub, event) {
      waiting.push(event);
      wake();
      return new Promise((resolve) => take = resolve);
    },
    ended(_sub, error) {
      end = { error };
      wake();
    },
  });
  const stop = () => {
    end = {};
    waiting.length = 0;
    subscriptions.close();
    take();
    wake();
  };
  const push = subscriptions.channel();
  await subscribe(push);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  push.start();

  async function* events() {
    try {
      while (true) {
        const event = waiting.shift();
        if (event !== undefined) {
          take();
          yield event;
        } else if (end === undefined) await new Promise<void>((resolve) => wake = resolve);
        else if (end.error !== undefined) throw end.error;
        else return;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  }
  return events();
}
