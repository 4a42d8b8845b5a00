import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { explain } from "../rpc/api.ts";
import { Icon, type IconName } from "./icon.tsx";
import { useId } from "./use_id.ts";
import { usePopover } from "./use_popover.ts";

export interface Option {
  value: string;
  label: string;
  detail?: string;
  icon: IconName;
  /** It does not choose, but goes on with this text in the box. */
  goes_on?: string;
}

interface PickerProps {
  /** What is chosen. */
  label: string;
  /** What the button shows; its whole in `title`. */
  text: string;
  title?: string;
  icon: IconName;
  placeholder: string;
  /** Asked for anew when the text or `version` changes. @throws what is said in their place */
  options(query: string): Promise<readonly Option[]> | readonly Option[];
  version?: unknown;
  onOpen?(): void;
  onPick(value: string): void;
  /** Grows when it is to be opened from elsewhere. */
  opened?: number;
}

/** A button that shows what is chosen, and opens a box to choose something else by typing. */
export function Picker(props: PickerProps) {
  const { label, text, title, icon, onOpen, opened = 0 } = props;
  const id = useId();
  const open = useSignal(false);
  const panel = useRef<HTMLDivElement>(null);
  usePopover(panel, {
    align: "start",
    onOpen: () => {
      open.value = true;
      onOpen?.();
    },
    onClose: () => open.value = false,
  });
  useEffect(() => {
    if (opened > 0) panel.current!.showPopover();
  }, [opened]);
  return (
    <>
      <button
        type="button"
        class="button quiet picker-button"
        aria-haspopup="dialog"
        aria-expanded={open.value}
        aria-label={`${label}: ${text}`}
        title={title}
        popovertarget={id}
      >
        <Icon name={icon} />
        <span class="clip">{text}</span>
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        class="popover picker-panel"
        role="dialog"
        aria-label={label}
      >
        {open.value && (
          <Choices
            {...props}
            onPick={(value) => {
              panel.current!.hidePopover();
              props.onPick(value);
            }}
          />
        )}
      </div>
    </>
  );
}

/** A combobox: the focus stays in the box, the arrows move through what is offered. */
function Choices({ label, placeholder, options, version, onPick }: PickerProps) {
  const id = useId();
  const query = useSignal("");
  const found = useSignal<readonly Option[] | undefined>(undefined);
  /** The text that they were found for. */
  const found_for = useRef<string | undefined>(undefined);
  /** Enter was pressed before what was typed had been looked for. */
  const awaited = useRef(false);
  const problem = useSignal<string | undefined>(undefined);
  const at = useSignal(0);
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => box.current!.focus(), []);
  useEffect(() => {
    let gone = false;
    const asked = query.value;
    const take = (them: readonly Option[] | undefined, error?: unknown) => {
      // More may have been typed before this effect is cleaned up.
      if (gone || asked !== query.peek()) return;
      found.value = them ?? [];
      found_for.current = asked;
      if (awaited.current && found.value.length > 0) choose(found.value[0]);
      awaited.current = false;
      problem.value = error === undefined ? undefined : explain(error);
      at.value = Math.min(at.peek(), Math.max(0, found.value.length - 1));
    };
    (async () => take(await options(asked)))().catch((error) => take(undefined, error));
    return () => gone = true;
  }, [query.value, version]);
  const chosen = at.value;
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen, found.value]);
  const type = (text: string) => {
    query.value = text;
    at.value = 0;
    awaited.current = false;
  };
  const choose = (option: Option | undefined) => {
    if (option === undefined) return;
    if (option.goes_on === undefined) return onPick(option.value);
    type(option.goes_on);
    box.current!.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const them = found.value ?? [];
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 }[event.key];
    const goes_on = them[chosen]?.goes_on;
    if (to !== undefined) at.value = Math.max(0, Math.min(to, them.length - 1));
    else if (event.key === "Enter" && found_for.current !== query.peek()) awaited.current = true;
    else if (event.key === "Enter") choose(them[chosen]);
    else if (event.key === "Tab" && !event.shiftKey && goes_on !== undefined) type(goes_on);
    else return;
    event.preventDefault();
  };
  const none = problem.value ?? (found.value?.length === 0 ? "Nothing found" : undefined);
  return (
    <>
      <input
        ref={box}
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded="true"
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={found.value?.length ? `${id}-${chosen}` : undefined}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        value={query}
        onInput={({ currentTarget }) => type(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <ul ref={list} id={id} role="listbox" aria-label={label}>
        {found.value?.map((option, n) => (
          <li
            key={option.value}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(option)}
          >
            <Icon name={option.icon} />
            <span class="clip" dir="auto">{option.label}</span>
            {option.detail && <span class="picker-detail clip">{option.detail}</span>}
          </li>
        ))}
      </ul>
      {none && <p class="picker-empty" role="status">{none}</p>}
    </>
  );
}
