import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../../../src/base/visible.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { stopTurn, typedAgain } from "../../../src/features/chat_commands/stop_turn.ts";
import { type App, useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { AttachedList, toSend, useAttached } from "./attached.tsx";
import { SettingsButton } from "./configure.tsx";
import { ModeSelect } from "./mode.tsx";
import { APPLE, enter_sends, isSend, SendKey } from "./send_key.tsx";
import type { PageActs } from "./chat_commands.ts";
import type { SessionStore } from "./store.ts";

interface ComposerProps {
  store: SessionStore;
  input: RefObject<HTMLTextAreaElement>;
  onSent(): void;
}

/** Writes a message. Arrow up in an empty box brings back what was sent before. */
export function Composer({ store, input, onSent }: ComposerProps) {
  const app = useApp();
  const text = useSignal(readDraft(store.id));
  const sending = useSignal(false);
  /** What the last command had to say. */
  const said = useSignal("");
  /** How far back in what was sent; 0 is the draft. */
  const back = useRef(0);
  const attached = useAttached();
  const { state, turn } = store.state;
  const empty = text.value.trim() === "" && attached.files.length === 0;
  const write = (value: string) => {
    text.value = value;
    keepDraft(store.id, value);
  };
  const stop = () => {
    // Asked again, it would give nothing back.
    const call: CallVerb = (name, params) => app.client.call(name, params);
    return stopTurn(call, store.id, (messages) => store.giveBack(messages));
  };
  const send = async () => {
    const message = text.value;
    if (empty || sending.value) return;
    sending.value = true;
    const { files } = attached;
    const { activeElement } = document;
    // The same id if it has to be asked again: it is sent once.
    const client_message_id = crypto.randomUUID();
    const session_id = store.id;
    const sent = await app.attempt(async () => {
      said.value = "";
      const typed = message.startsWith("/")
        ? await runTyped(message, session_id, app, {
          stop() {
            write("");
            return stop();
          },
          giveBack(messages) {
            write("");
            store.giveBack(messages);
          },
        })
        : { text: message };
      if (!("text" in typed)) {
        said.value = visible(typed.said ?? "");
        return;
      }
      const { text } = typed;
      const attachments = toSend(files);
      return app.client.ask("session.send", {
        session_id,
        text: text.trim() === "" ? "(attached)" : text,
        client_message_id,
        ...(attachments.length > 0 && { attachments }),
      });
    });
    sending.value = false;
    if (!sent) return;
    onSent();
    if (text.value === message) write("");
    attached.remove(files);
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
    if (isSend(event, enter_sends.value)) {
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
  const draft = store.draft.value;
  useEffect(() => {
    if (draft === undefined) return;
    store.draft.value = undefined;
    if (text.peek().trim() === "") write(draft);
    input.current?.focus();
  }, [draft]);
  const returned = store.returned.value;
  useEffect(() => {
    if (returned.length === 0) return;
    store.returned.value = [];
    write(typedAgain(returned, text.peek()));
    attached.giveBack(store.id, returned.flatMap(({ attachments = [] }) => attachments));
    input.current?.focus();
  }, [returned]);
  const ended = state === "ended";
  useEffect(() => {
    if (ended) keepDraft(store.id, "");
  }, [ended]);
  if (ended) return <p class="composer-closed">This session has ended.</p>;
  if (state === "paused") {
    return <p class="composer-closed">This session is paused. Resume it to continue.</p>;
  }
  return (
    <div
      class="composer"
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
      }}
      onDrop={(event) => {
        if (attached.take(event.dataTransfer)) event.preventDefault();
      }}
    >
      {said.value !== "" && <pre class="composer-said" role="status" tabIndex={0}>{said}</pre>}
      <AttachedList attached={attached} />
      <label class="visually-hidden" for="message">Message</label>
      <textarea
        ref={input}
        id="message"
        dir="auto"
        rows={Math.min(12, Math.max(2, text.value.split("\n").length))}
        placeholder={turn ? "Steer the agent" : "What should the agent do?"}
        enterkeyhint={enter_sends.value ? "send" : "enter"}
        aria-keyshortcuts={enter_sends.value ? "Enter" : APPLE ? "Meta+Enter" : "Control+Enter"}
        value={text}
        onInput={({ currentTarget }) => {
          back.current = 0;
          write(currentTarget.value);
        }}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          if (attached.take(event.clipboardData)) event.preventDefault();
        }}
      />
      <div class="composer-foot">
        <SettingsButton store={store} />
        <ModeSelect store={store} />
        <SendKey />
        {turn && (
          <Button icon="stop" onClick={stop}>
            Cancel turn
          </Button>
        )}
        <Button
          tone="primary"
          icon="send"
          onClick={send}
          disabled={empty}
        >
          Send
        </Button>
      </div>
    </div>
  );
}

/** Carries out a line that begins with a slash. */
async function runTyped(
  line: string,
  session_id: string,
  app: App,
  acts: PageActs,
) {
  const commands = await app.load(() => import("./chat_commands.ts"));
  const call: CallVerb = (name, params) => app.client.ask(name, params);
  return await commands.runTyped(line, session_id, call, acts);
}

/** Drafts outlive the tab that they were written in. */
function readDraft(session_id: string): string {
  try {
    return localStorage.getItem(`svc.draft.${session_id}`) ?? "";
  } catch {
    return "";
  }
}

function keepDraft(session_id: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(`svc.draft.${session_id}`);
    else localStorage.setItem(`svc.draft.${session_id}`, text);
  } catch {
    // It lasts until the view is left.
  }
}
