import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../../../src/base/visible.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import type { Delivery } from "../../../src/protocol/events.ts";
import { stopTurn, typedAgain } from "../../../src/features/chat_commands/stop_turn.ts";
import { personCommand } from "../../../src/protocol/person_command.ts";
import { type App, useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { Menu } from "../ui/menu.tsx";
import { useKept } from "../ui/use_kept.ts";
import { AttachedList, toSend, useAttached } from "./attached.tsx";
import { Chips } from "./chips.tsx";
import { useDropped } from "./use_dropped.ts";
import { useStopKey } from "./use_stop_key.ts";
import { useSuggestions } from "./use_suggestions.ts";
import { WorkingLine } from "./working_line.tsx";
import { optionId, OptionList } from "../ui/option_list.tsx";
import { APPLE, enter_sends, isQueue, isSend, SendKey } from "./send_key.tsx";
import type { PageActs } from "./chat_commands.ts";
import { QueuedList } from "./queued.tsx";
import type { SessionStore } from "./store.ts";

interface ComposerProps {
  store: SessionStore;
  input: RefObject<HTMLTextAreaElement>;
  onSent(): void;
}

const MENU = "composer-menu";

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
  const attached = useAttached((more) => write(`${text.peek()}${more}`));
  const picker = useRef<HTMLInputElement>(null);
  const { state, turn } = store.state;
  const empty = text.value.trim() === "" && attached.files.length === 0;
  const suggestions = useSuggestions(store.id, input, write);
  const menu = suggestions.menu.value;
  const stop = () => {
    // Asked again, it would give nothing back.
    const call: CallVerb = (name, params) => app.client.call(name, params);
    return stopTurn(call, store.id, (messages) => store.giveBack(messages));
  };
  const running = turn !== undefined && turn.parked === undefined;
  const armed = useStopKey(running, stop);
  const dropping = useDropped(attached.take);
  /** @param chosen how it reaches a model at work */
  const send = async (chosen?: Delivery) => {
    suggestions.close();
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
      const typed = /^\\?\//.test(message)
        ? await runTyped(message, session_id, app, {
          stop() {
            write("");
            return stop();
          },
          giveBack(messages) {
            write("");
            store.giveBack(messages);
          },
          open: (id) => app.router.go(`/sessions/${id}`),
        })
        : { text: message, delivery: chosen };
      if (!("text" in typed)) {
        said.value = visible(typed.said ?? "");
        return;
      }
      const { text, delivery = chosen } = typed;
      const attachments = toSend(files);
      const run = personCommand(text);
      return app.client.ask("session.send", {
        session_id,
        text: run ?? (text.trim() === "" ? "(attached)" : text),
        run: run !== undefined,
        client_message_id,
        ...(delivery && { delivery }),
        ...(attachments.length > 0 && { attachments }),
      });
    });
    sending.value = false;
    if (!sent) return;
    onSent();
    if (text.value === message) {
      write("");
      // At once: a page that is closed now would leave it to come back.
      draft.save();
    }
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
    if (suggestions.takes(event)) return;
    if (isSend(event, enter_sends.value)) {
      event.preventDefault();
      send();
    } else if (isQueue(event)) {
      event.preventDefault();
      send("queue");
    } else if (event.key === "ArrowUp" && (text.value === "" || back.current > 0)) {
      event.preventDefault();
      recall(1);
    } else if (event.key === "ArrowDown" && back.current > 0) {
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
  const ended = state === "ended";
  useEffect(() => {
    if (ended) write("");
  }, [ended]);
  if (ended) {
    return (
      <>
        <QueuedList store={store} />
        <p class="composer-closed">This session has ended.</p>
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
      <div class={dropping ? "composer dropping" : "composer"}>
        {menu && (
          <OptionList
            id={MENU}
            label={menu.token.kind === "file" ? "Files" : "Commands and skills"}
            options={menu.options}
            at={menu.at}
            onAt={(at) => suggestions.menu.value = { ...menu, at }}
            onPick={suggestions.pick}
          />
        )}
        {said.value !== "" && <pre class="composer-said" role="status" tabIndex={0}>{said}</pre>}
        <AttachedList attached={attached} />
        <label class="visually-hidden" for="message">Message</label>
        <textarea
          ref={input}
          id="message"
          dir="auto"
          rows={Math.min(12, Math.max(2, text.value.split("\n").length))}
          placeholder={turn
            // A screen keyboard has no Alt.
            ? enter_sends.value ? "Steer the agent; Alt+Enter queues" : "Steer the agent"
            : "What should the agent do? @ files, / commands, ! shell"}
          enterkeyhint={enter_sends.value ? "send" : "enter"}
          aria-keyshortcuts={`${
            enter_sends.value ? "Enter" : APPLE ? "Meta+Enter" : "Control+Enter"
          } Alt+Enter`}
          aria-autocomplete="list"
          aria-controls={menu && MENU}
          aria-activedescendant={menu && optionId(MENU, menu.at)}
          value={text}
          onInput={({ currentTarget }) => {
            back.current = 0;
            write(currentTarget.value);
            suggestions.look();
          }}
          onKeyDown={onKeyDown}
          onBlur={suggestions.close}
          onPaste={(event) => {
            if (attached.take(event.clipboardData)) event.preventDefault();
          }}
        />
        <div class="composer-foot">
          <Button
            label="Attach files"
            icon="plus"
            tone="quiet"
            onClick={() => picker.current!.click()}
          />
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            aria-label="Files to attach"
            onChange={({ currentTarget }) => {
              attached.take(currentTarget);
              currentTarget.value = "";
            }}
          />
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
        </div>
        {dropping && <p class="drop-target">Drop images, PDF or text files here</p>}
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
  const commands = await app.load(() => import("./on_demand.ts"));
  const call: CallVerb = (name, params) => app.client.ask(name, params);
  return await commands.runTyped(line, session_id, call, acts);
}
