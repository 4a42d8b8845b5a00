/** The messages that wait for turns of their own, above the box; and what is done with one that waits. */
import type { RefObject } from "preact";
import type { Delivery } from "../../../src/protocol/events.ts";
import type { UserItem } from "../../../src/session/view.ts";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import type { SessionStore } from "./store.ts";

/** Characters of a message in the list. */
const SHOWN_MAX = 300;
/** The model has read it, or another client has taken it back. */
const GONE = "This message waits no longer";

/** What is done with a message that waits. */
export function useWaiting(store: SessionStore) {
  const { client, announcer } = useApp();
  const session_id = store.id;
  return {
    async takeBack(message_id: string) {
      const message_ids = [message_id];
      const { messages } = await client.call("session.withdraw", { session_id, message_ids });
      if (messages.length === 0) announcer.say(GONE);
      store.giveBack(messages);
    },
    async redeliver(message_id: string, delivery: Delivery) {
      const { changed } = await client.call("session.redeliver", {
        session_id,
        message_id,
        delivery,
      });
      if (!changed) announcer.say(GONE);
      else announcer.say(delivery === "queue" ? "Queued" : "Sent to the model");
    },
  };
}

interface QueuedProps {
  store: SessionStore;
  /** The box for a message, where there is one. */
  input?: RefObject<HTMLTextAreaElement>;
}

export function QueuedList({ store, input }: QueuedProps) {
  const app = useApp();
  const { takeBack, redeliver } = useWaiting(store);
  const queued = store.conversation.items.filter((it): it is UserItem =>
    it.kind === "user" && it.queued === true
  );
  if (queued.length === 0) return null;
  const { turn, later_held, state } = store.state;
  const ended = state === "ended";
  const paused = state === "paused" || ended;
  const steer = async (message_id: string) => {
    await redeliver(message_id, "steer");
    input?.current?.focus();
  };
  return (
    <section class="queued" aria-label="Queued messages" tabIndex={0}>
      {ended && <p class="queued-held">The session ended before the model read these.</p>}
      {later_held && !turn && !paused && (
        <p class="queued-held">These wait until you send one: the last turn did not go well.</p>
      )}
      <ol>
        {queued.map(({ key, text, message_id = "", attachments = [] }) => (
          <li key={key}>
            <span class="queued-text clip" dir="auto">
              {text.slice(0, SHOWN_MAX)}
              {attachments.map(({ name }) => <span key={name} class="queued-file">{name}</span>)}
            </span>
            {!paused && (
              <Button tone="quiet" icon="send" onClick={() => steer(message_id)}>
                {turn ? "Steer" : "Send now"}
              </Button>
            )}
            {ended
              ? <Button tone="quiet" icon="copy" onClick={() => app.copy(text)}>Copy</Button>
              : (
                <Button tone="quiet" icon="undo" onClick={() => takeBack(message_id)}>
                  Take back
                </Button>
              )}
          </li>
        ))}
      </ol>
    </section>
  );
}
