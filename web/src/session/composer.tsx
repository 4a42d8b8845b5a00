import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import type { SessionStore } from "./store.ts";

/** Shortens the conversation that the model is given. */
const COMPACT = "/compact";

const APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);

interface ComposerProps {
  store: SessionStore;
  input: RefObject<HTMLTextAreaElement>;
}

/** Writes a message. Arrow up in an empty box brings back what was sent before. */
export function Composer({ store, input }: ComposerProps) {
  const app = useApp();
  const text = useSignal(readDraft(store.id));
  const sending = useSignal(false);
  /** How far back in what was sent; 0 is the draft. */
  const back = useRef(0);
  const { state, turn } = store.state;
  const write = (value: string) => {
    text.value = value;
    keepDraft(store.id, value);
  };
  const send = async () => {
    const message = text.value;
    if (message.trim() === "" || sending.value) return;
    sending.value = true;
    const { activeElement } = document;
    // The same id if it has to be asked again: it is sent once.
    const client_message_id = crypto.randomUUID();
    const session_id = store.id;
    const sent = await app.attempt(async () => {
      if (message.trim() === COMPACT) return app.client.ask("session.compact", { session_id });
      const { text } = message.startsWith("/")
        ? await app.client.ask("commands.expand", { session_id, text: message })
        : { text: message };
      return app.client.ask("session.send", { session_id, text, client_message_id });
    });
    sending.value = false;
    if (!sent) return;
    if (text.value === message) write("");
    back.current = 0;
    // Whoever went on to something else meanwhile is left there.
    if (document.activeElement === activeElement) input.current?.focus();
  };
  const recall = (by: 1 | -1) => {
    const sent = store.conversation.items.flatMap((it) => it.kind === "user" ? [it.text] : []);
    const to = back.current + by;
    if (to < 0 || to > sent.length) return;
    back.current = to;
    write(to === 0 ? "" : sent[sent.length - to]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" && (text.value === "" || back.current > 0)) {
      event.preventDefault();
      recall(1);
    } else if (event.key === "ArrowDown" && back.current > 0) {
      event.preventDefault();
      recall(-1);
    }
  };
  if (state === "ended") return <p class="composer-closed">This session has ended.</p>;
  if (state === "paused") {
    return <p class="composer-closed">This session is paused. Resume it to continue.</p>;
  }
  return (
    <div class="composer">
      <label class="visually-hidden" for="message">Message</label>
      <textarea
        ref={input}
        id="message"
        rows={Math.min(12, Math.max(2, text.value.split("\n").length))}
        placeholder={turn ? "Steer the agent" : "What should the agent do?"}
        aria-keyshortcuts={APPLE ? "Meta+Enter" : "Control+Enter"}
        value={text}
        onInput={({ currentTarget }) => {
          back.current = 0;
          write(currentTarget.value);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="composer-foot">
        <span class="composer-hint">
          <kbd>{APPLE ? "⌘" : "Ctrl"}</kbd> <kbd>↵</kbd> sends
        </span>
        {turn && (
          <Button
            icon="stop"
            onClick={async () => {
              await app.client.call("session.cancel", { session_id: store.id });
            }}
          >
            Cancel turn
          </Button>
        )}
        <Button
          tone="primary"
          icon="send"
          onClick={send}
          disabled={text.value.trim() === ""}
        >
          Send
        </Button>
      </div>
    </div>
  );
}

function readDraft(session_id: string): string {
  try {
    return sessionStorage.getItem(`svc.draft.${session_id}`) ?? "";
  } catch {
    return "";
  }
}

function keepDraft(session_id: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(`svc.draft.${session_id}`);
    else sessionStorage.setItem(`svc.draft.${session_id}`, text);
  } catch {
    // It lasts until the view is left.
  }
}
