import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import type { SessionStore } from "./store.ts";

/** Tries again after a turn that failed. */
export function RetryButton({ store }: { store: SessionStore }) {
  const { client } = useApp();
  const { state, turn } = store.state;
  if (state !== "running" || turn !== undefined) return null;
  const retry = async () => {
    const session_id = store.id;
    const { items } = store.conversation;
    const asked = items.findLastIndex(({ kind }) => kind === "user");
    const message = items[asked];
    const client_message_id = crypto.randomUUID();
    const plain = message?.kind === "user" && message.message_id !== undefined &&
      !message.attachments?.length &&
      !items.slice(asked).some(({ kind }) => kind === "tool" || kind === "text");
    // What was done before it failed stays.
    if (!plain) {
      await client.ask("session.send", { session_id, text: "Continue.", client_message_id });
      return;
    }
    const { message_id, seq, text } = message;
    await client.call("session.rewind", { session_id, message_id, what: "conversation" });
    try {
      await client.ask("session.send", { session_id, text, client_message_id });
    } catch (error) {
      // It is no longer in the conversation.
      store.edit({ message_id: message_id!, seq, text });
      throw error;
    }
  };
  return <Button tone="quiet" icon="play" onClick={retry}>Retry</Button>;
}
