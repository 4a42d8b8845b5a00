/** What opens beside a button, above everything, and closes by Escape or a click elsewhere. */
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Pixels between the button and what it opens, and between that and the window's edge. */
const GAP = 4;
const EDGE = 8;

interface PopoverOptions {
  /** At which side of the button it begins; without room at its start, at its end. */
  align: "start" | "end";
  onOpen(): void;
  onClose(): void;
}

/**
 * Puts an element with `popover` beside the button that opens it, also after the page has scrolled.
 * The browser itself opens and closes it and gives the focus back.
 */
export function usePopover(
  panel: RefObject<HTMLElement>,
  { align, onOpen, onClose }: PopoverOptions,
): void {
  // An effect comes after what is drawn: who is quick would open an empty panel.
  useLayoutEffect(() => {
    const element = panel.current!;
    const place = () => {
      const button = document.querySelector(`[popovertarget="${CSS.escape(element.id)}"]`);
      if (button === null) return;
      const { left, right, top, bottom } = button.getBoundingClientRect();
      const { offsetWidth, offsetHeight } = element;
      const at_start = align === "start" && left + offsetWidth <= innerWidth - EDGE;
      const wanted = at_start ? left : right - offsetWidth;
      const below = innerHeight - bottom - GAP - EDGE;
      const fits = offsetHeight <= below || below >= top - GAP - EDGE;
      element.style.left = `${Math.max(EDGE, Math.min(wanted, innerWidth - offsetWidth - EDGE))}px`;
      element.style.top = `${
        fits
          ? Math.min(bottom + GAP, innerHeight - offsetHeight - EDGE)
          : Math.max(EDGE, top - GAP - offsetHeight)
      }px`;
    };
    const resized = new ResizeObserver(place);
    const follow = (open: boolean) => {
      const act = open ? addEventListener : removeEventListener;
      act("scroll", place, true);
      act("resize", place);
      if (open) resized.observe(element);
      else resized.disconnect();
    };
    const onToggle = (event: Event) => {
      const open = (event as ToggleEvent).newState === "open";
      follow(open);
      if (!open) return onClose();
      onOpen();
      place();
    };
    element.addEventListener("toggle", onToggle);
    return () => {
      element.removeEventListener("toggle", onToggle);
      follow(false);
    };
  }, []);
}
