import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import type { Delivery } from "../../../src/protocol/events.ts";
import {
  stopTurn,
  typedAgain,
  type Withdrawn,
} from "../../../src/features/chat_commands/stop_turn.ts";
import type { ExportFormat } from "../../../src/features/chat_commands/export_command.ts";
import { useApp } from "../app.ts";
import { exportAs } from "../sessions/export.ts";
import { Button } from "../ui/button.tsx";
import { APPLE } from "../ui/keys.ts";
import { Menu } from "../ui/menu.tsx";
import { useKept } from "../ui/use_kept.ts";
import { choose, new_session, TAB } from "../sessions/new_session.ts";
import {
  type AttachedFiles,
  AttachedList,
  keepFiles,
  keptFiles,
  useAttached,
} from "./attached.tsx";
import { Chips } from "./chips.tsx";
import { deliver } from "./deliver.ts";
import { MessageBox } from "./message_box.tsx";
import { useStopKey } from "./use_stop_key.ts";
import { WorkingLine } from "./working_line.tsx";
import { enter_sends, isQueue, isSend, SendKey } from "./send_key.tsx";
import { QueuedList } from "./queued.tsx";
import type { SessionStore } from "./store.ts";

const DELETED = "This session was deleted.";

interface ComposerProps {
  store: SessionStore;
  input: RefObject<HTMLTextAreaElement>;
  onSent(): void;
}

/** Writes a message. Arrow up in an empty box brings back what was sent before. */
export function Composer({ store, input, onSent }: ComposerProps) {
  const app = useApp();
  const { draft } = store;
  const { text } = draft;
  const write = (value: string) => draft.write(value);
  const sending = useSignal(false);
  /** What the last command had to say. */
  const said = useKept<string>("said", "");
  /** How far back in what was sent; 0 is the draft. */
  const back = useRef(0);
  const attached = useAttached(store.id, (more) => write(`${text.peek()}${more}`));
  const { state, turn } = store.state;
  const empty = text.value.trim() === "" && attached.files.length === 0;
  const stop = () => {
    // Asked again, it would give nothing back.
    const call: CallVerb = (name, params) => app.client.call(name, params);
    return stopTurn(call, store.id, (messages) => store.giveBack(messages));
  };
  const running = turn !== undefined && turn.parked === undefined;
  const armed = useStopKey(running, stop);
  /** @param chosen how it reaches a model at work */
  const send = async (chosen?: Delivery) => {
    const message = text.value;
    if (empty || sending.value) return;
    sending.value = true;
    const { files } = attached;
    const { activeElement } = document;
    const sent = await app.attempt(async () => {
      said.value = "";
      const acts = {
        stop() {
          write("");
          return stop();
        },
        giveBack(messages: readonly Withdrawn[]) {
          write("");
          store.giveBack(messages);
        },
        save: (name: string, format: ExportFormat) => exportAs(app, store.id, name, format),
        open: (id: string) => app.router.go(`/sessions/${id}`),
      };
      const answer = await deliver(app, store.id, message, files, acts, chosen);
      said.value = answer ?? "";
      // A command takes none: they wait for the message.
      if (answer === undefined) attached.remove(files);
    });
    sending.value = false;
    if (!sent) return;
    onSent();
    if (text.value === message) {
      write("");
      // At once: a page that is closed now would leave it to come back.
      draft.save();
    }
    back.current = 0;
    // Whoever went on to something else meanwhile is left there.
    if (document.activeElement === activeElement) input.current?.focus();
  };
  const sentBefore = () =>
    store.conversation.items.flatMap((it) => it.kind === "user" ? [it.text] : []);
  const recall = (by: 1 | -1) => {
    const sent = sentBefore();
    const to = back.current + by;
    if (to < 0 || to > sent.length) return;
    back.current = to;
    write(to === 0 ? "" : sent[sent.length - to]);
  };
  /**
   * Whether an arrow goes on to the next message that was sent: within a text it moves the cursor, and
   * a text that came from elsewhere meanwhile stays.
   */
  const recalls = () => {
    const { selectionStart, selectionEnd, value } = input.current!;
    return back.current > 0 && selectionStart === selectionEnd &&
      (selectionEnd === 0 || selectionEnd === value.length) &&
      sentBefore().at(-back.current) === text.peek();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isSend(event, enter_sends.value)) {
      event.preventDefault();
      send();
    } else if (isQueue(event)) {
      event.preventDefault();
      send("queue");
    } else if (event.key === "ArrowUp" && (text.value === "" || recalls())) {
      event.preventDefault();
      if (!recalls()) back.current = 0;
      recall(1);
    } else if (event.key === "ArrowDown" && recalls()) {
      event.preventDefault();
      recall(-1);
    }
  };
  useEffect(() => draft.follow(), [draft]);
  const edits = store.edits.value;
  useEffect(() => {
    if (edits === 0) return;
    // After the dialog that it came from has given the focus back.
    const timer = setTimeout(() => input.current?.focus());
    return () => clearTimeout(timer);
  }, [edits]);
  const returned = store.returned.value;
  useEffect(() => {
    if (returned.length === 0) return;
    store.returned.value = [];
    write(typedAgain(returned, text.peek()));
    attached.giveBack(store.id, returned.flatMap(({ attachments = [] }) => attachments));
    input.current?.focus();
  }, [returned]);
  const deleted = store.deleted.value;
  const ended = state === "ended" || deleted;
  /** What was not sent when it ended. */
  const left = useKept<string>("left", "");
  useEffect(() => {
    if (!ended) return;
    const { removed } = draft;
    // Another page may have sent it while this one was not connected.
    const was_sent = store.conversation.items.some((it) =>
      it.kind === "user" && it.text === removed
    );
    left.value ||= text.peek() || (was_sent ? "" : removed);
    write("");
  }, [ended]);
  useEffect(() => {
    if (deleted) app.announcer.say(DELETED);
  }, [deleted]);
  if (ended) {
    return (
      <>
        <QueuedList store={store} />
        <p class="composer-closed">{deleted ? DELETED : "This session has ended."}</p>
        <Unsent text={left} attached={attached} workdir={store.state.workdir} />
      </>
    );
  }
  if (state === "paused") {
    return (
      <div class="composer-frame">
        <QueuedList store={store} input={input} />
        <p class="composer-closed">
          This session is paused.{" "}
          <Button
            icon="play"
            onClick={() => app.client.call("session.resume", { session_id: store.id })}
          >
            Resume
          </Button>
        </p>
      </div>
    );
  }
  return (
    <div class="composer-frame">
      <QueuedList store={store} input={input} />
      <WorkingLine store={store} armed={armed} />
      <MessageBox
        id="message"
        label="Message"
        rows={2}
        placeholder={turn
          // A screen keyboard has no Alt.
          ? enter_sends.value ? "Steer the agent; Alt+Enter queues" : "Steer the agent"
          : "What should the agent do? @ files, / commands, ! shell"}
        keys={`${enter_sends.value ? "Enter" : APPLE ? "Meta+Enter" : "Control+Enter"} Alt+Enter`}
        input={input}
        text={text.value}
        write={(value) => {
          back.current = 0;
          write(value);
        }}
        said={said}
        attached={attached}
        place={{ session_id: store.id }}
        onKeyDown={onKeyDown}
      >
        <Chips store={store} />
        <SendKey />
        {turn && <Button icon="stop" label="Cancel turn" onClick={stop} />}
        <Button tone="primary" icon="send" onClick={() => send()} disabled={empty}>
          {running ? "Steer" : "Send"}
        </Button>
        {turn && (
          <Menu
            label="Steer or queue"
            items={() => [
              { icon: "send", label: "Steer this turn", run: () => send() },
              { icon: "down", label: "Queue for after this turn", run: () => send("queue") },
            ]}
          />
        )}
      </MessageBox>
    </div>
  );
}

interface UnsentProps {
  text: Signal<string>;
  attached: AttachedFiles;
  workdir: string;
}

/** What was written for a session that has ended. */
function Unsent({ text, attached, workdir }: UnsentProps) {
  const app = useApp();
  const { files } = attached;
  if (text.value === "" && files.length === 0) return null;
  const begin = async () => {
    const { text: written, tab = TAB } = new_session.peek();
    // Below what is written there, and after its files.
    const all = [...await keptFiles(tab), ...files];
    if (all.length > 0) await keepFiles(TAB, all);
    attached.remove(files);
    choose({ text: [written, text.value].filter(Boolean).join("\n\n"), workdir });
    text.value = "";
    app.compose();
  };
  return (
    <div class="composer-frame composer-left">
      <textarea readOnly rows={3} aria-label="Not sent" dir="auto" value={text} />
      <AttachedList attached={attached} />
      <p>
        <Button icon="copy" onClick={() => app.copy(text.value)}>Copy</Button>
        <Button icon="plus" onClick={begin}>New session with this</Button>
      </p>
    </div>
  );
}
