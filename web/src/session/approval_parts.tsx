/** What every question has: its head, its text that scrolls, its buttons that do not. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";

interface HeadProps {
  text: string;
  /** Which one of how many. */
  count: string | undefined;
}

/** What is asked, in a few words. */
export function Head({ text, count }: HeadProps) {
  return (
    <p class="approval-head">
      <Icon name="bell" />
      <strong>{text}</strong>
      {count && <span class="approval-count">{count}</span>}
    </p>
  );
}

/** What became of an answer that came too late, until it is hidden. */
export function Late({ text }: { text: Signal<string> }) {
  if (text.value === "") return null;
  return (
    <p class="approval-late">
      <span>{text}</span>
      <Button label="Dismiss" icon="close" tone="quiet" onClick={() => text.value = ""} />
    </p>
  );
}

interface AskedListProps {
  label: string;
  /** What each is called, by its id, with the number before it. */
  items: readonly { id: string; number: number; text: string }[];
  /** The one that is open. */
  open: string;
  onOpen(id: string): void;
}

/** What waits, one below the other; one of it is open. */
export function AskedList({ label, items, open, onOpen }: AskedListProps) {
  return (
    <ol class="approval-list" aria-label={label}>
      {items.map(({ id, number, text }) => (
        <li key={id}>
          <button type="button" aria-current={id === open || undefined} onClick={() => onOpen(id)}>
            <span>{number}</span>
            <span class="clip" dir="auto">{text}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

interface AskedTextProps {
  /** Mark where it begins and where it ends. */
  begin: RefObject<HTMLSpanElement>;
  end: RefObject<HTMLSpanElement>;
  children: ComponentChildren;
}

/** All that is asked. It alone scrolls, so that the buttons stay in sight. */
export function AskedText({ begin, end, children }: AskedTextProps) {
  return (
    <div class="approval-text" tabIndex={0} role="group" aria-label="What is asked">
      <span ref={begin} class="approval-mark" />
      {children}
      <span ref={end} class="approval-mark" />
    </div>
  );
}

/** The buttons, and what is said about them. */
export function Actions({ hint, children }: { hint?: string; children: ComponentChildren }) {
  return (
    <div
      class="approval-actions"
      // A key that is held down has answered once.
      onKeyDown={(event) => event.repeat && event.preventDefault()}
    >
      {children}
      {hint !== undefined && <span class="approval-rule">{hint}</span>}
    </div>
  );
}

/** The key that presses a button; readers hear of it from the button's own shortcut. */
export function Key({ name }: { name: string }) {
  return <kbd aria-hidden="true">{name}</kbd>;
}
