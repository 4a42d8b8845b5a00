/** Keys that press buttons of a question. */
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isTyped, keyOf } from "../ui/keys.ts";

/**
 * Has each key press the button that names it as its shortcut, as far as that can be pressed.
 *
 * @param active whether the question is the one that is open
 * @returns where the buttons are
 */
export function useKeys(active: boolean): RefObject<HTMLDivElement> {
  const group = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent) => {
      const { repeat, ctrlKey, metaKey, altKey } = event;
      const key = keyOf(event);
      if (repeat || ctrlKey || metaKey || altKey || !/^[a-z0-9]$/i.test(key)) return;
      if (isTyped(event) || document.querySelector("dialog[open]")) return;
      const button = group.current?.querySelector<HTMLElement>(
        `[aria-keyshortcuts="${key.toLowerCase()}"]`,
      );
      if (!button) return;
      // What it opens has the focus then: the letter must not get into it.
      event.preventDefault();
      button.click();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [active]);
  return group;
}
