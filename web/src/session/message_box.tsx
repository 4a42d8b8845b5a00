/** A box for a message: what it offers, its files, its text, and what stands below. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Place } from "../../../src/features/chat_commands/suggestions.ts";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { isLetter } from "../ui/keys.ts";
import { optionId, OptionList } from "../ui/option_list.tsx";
import { type AttachedFiles, AttachedList } from "./attached.tsx";
import { enter_sends } from "./send_key.tsx";
import { useDropped } from "./use_dropped.ts";
import { useSuggestions } from "./use_suggestions.ts";

const MENU = "composer-menu";

/** A line of an answer such as that of `/help`: a name, then what it is, some blanks after it. */
const TWO_COLUMNS = /^ {2}(\S.*?) {2,}(\S.*)$/;

interface MessageBoxProps {
  id: string;
  label: string;
  class?: string;
  rows: number;
  placeholder: string;
  keys?: string;
  input: RefObject<HTMLTextAreaElement>;
  text: string;
  /** Told the text that is to be in the box. */
  write(text: string): void;
  /** What the last command had to say. */
  said: Signal<string>;
  attached: AttachedFiles;
  /** Where files, commands and skills are looked for. */
  place?: Place;
  /** Told keys that the menu does not take. */
  onKeyDown(event: KeyboardEvent): void;
  children: ComponentChildren;
}

export function MessageBox(props: MessageBoxProps) {
  const { id, label, input, text, write, said, attached, children } = props;
  const { palette, view } = useApp();
  const suggestions = useSuggestions(props.place, input, write);
  const menu = suggestions.menu.value;
  const forget = () => {
    said.value = "";
    input.current!.focus();
  };
  const picker = useRef<HTMLInputElement>(null);
  const dropping = useDropped(attached.take);
  useEffect(() => {
    view.fill = (text) => {
      const box = input.current!;
      box.focus();
      box.select();
      // What stood there comes back by the browser's own undo.
      document.execCommand("insertText", false, text);
    };
    return () => delete view.fill;
  }, []);
  useLayoutEffect(() => {
    // Firefox does not know it.
    if (CSS.supports("field-sizing", "content")) return;
    const { style } = input.current!;
    style.blockSize = "auto";
    style.blockSize = `${input.current!.scrollHeight}px`;
  }, [text]);
  return (
    <div class={`composer ${props.class ?? ""}${dropping ? " dropping" : ""}`}>
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
      {said.value !== "" && (
        <>
          <pre class="composer-said" role="status" tabIndex={0}>
            {said.value.split("\n").map((line, n) => {
              const [, name = line, what] = TWO_COLUMNS.exec(line) ?? [];
              return (
                <span key={n}>
                  {name}
                  {what ? "  " : "\n"}
                  {what && <span>{`${what}\n`}</span>}
                </span>
              );
            })}
          </pre>
          <Button label="Hide answer" icon="close" tone="quiet" onClick={forget} />
        </>
      )}
      <AttachedList attached={attached} />
      <label class="visually-hidden" for={id}>{label}</label>
      <textarea
        ref={input}
        id={id}
        dir="auto"
        rows={props.rows}
        placeholder={props.placeholder}
        enterkeyhint={enter_sends.value ? "send" : "enter"}
        aria-keyshortcuts={props.keys}
        aria-autocomplete="list"
        aria-controls={menu && MENU}
        aria-activedescendant={menu && optionId(MENU, menu.at)}
        value={text}
        onInput={({ currentTarget }) => {
          write(currentTarget.value);
          suggestions.look();
        }}
        onKeyDown={(event) => {
          if (suggestions.takes(event)) return;
          if (event.key === "Escape" && said.value !== "") {
            event.preventDefault();
            return forget();
          }
          if (isLetter(event, "r")) {
            event.preventDefault();
            palette.value = "earlier";
            return;
          }
          if (event.key === "Enter") suggestions.close();
          props.onKeyDown(event);
        }}
        onBlur={suggestions.close}
        onPaste={(event) => {
          const { clipboardData: given } = event;
          // Office programs give a picture of the text along with it.
          if (given?.types.includes("text/html") && given.getData("text/plain").trim()) return;
          if (attached.take(given)) event.preventDefault();
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
        {children}
      </div>
      {dropping && <p class="drop-target">Drop images, PDF or text files here</p>}
    </div>
  );
}
