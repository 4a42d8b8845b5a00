import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A finger that has moved less may still want something else. */
const BEGINS_PX = 12;
/** How far a swipe goes at least. */
const DONE_PX = 72;
/** Where a finger writes or chooses; a dialog lies over what would be swiped. */
const TAKEN = "input, textarea, select, dialog";

interface SwipeOptions {
  to: "left" | "right";
  /** What moves with a finger that is put down; undefined where no swipe begins. */
  begin(event: PointerEvent): HTMLElement | null | undefined;
  done(moved: HTMLElement): void;
}

interface Touch {
  id: number;
  x: number;
  y: number;
  /** How far it went in the direction of the swipe. */
  by: number;
  begun: boolean;
  moved: HTMLElement;
}

/**
 * A swipe with one finger. It is none while text is selected, nor where something scrolls sideways;
 * the area needs `touch-action: pan-y`, so that scrolling stays the browser's.
 */
export function useSwipe(area: RefObject<HTMLElement>, options: SwipeOptions): void {
  const latest = useRef(options);
  latest.current = options;
  useEffect(() => {
    const element = area.current;
    if (element === null) return;
    let touch: Touch | undefined;
    const end = (whole: boolean) => {
      if (touch === undefined) return;
      const { moved, begun, by } = touch;
      touch = undefined;
      moved.style.removeProperty("translate");
      if (whole && begun && by >= DONE_PX) latest.current.done(moved);
    };
    const onDown = (event: PointerEvent) => {
      // A second finger means something else.
      end(false);
      const { pointerType, isPrimary, pointerId: id, clientX: x, clientY: y, target } = event;
      if (pointerType !== "touch" || !isPrimary || isTaken(target as Element, element)) return;
      const moved = latest.current.begin(event);
      if (moved) touch = { id, x, y, by: 0, begun: false, moved };
    };
    const onMove = ({ pointerId, clientX, clientY }: PointerEvent) => {
      if (touch?.id !== pointerId) return;
      const sign = latest.current.to === "right" ? 1 : -1;
      touch.by = (clientX - touch.x) * sign;
      if (!touch.begun) {
        const across = Math.abs(clientY - touch.y);
        if (across > BEGINS_PX || touch.by < -BEGINS_PX || isSelecting()) return end(false);
        if (touch.by < BEGINS_PX) return;
        touch.begun = true;
      }
      touch.moved.style.translate = `${Math.max(0, touch.by) * sign}px`;
    };
    const onUp = ({ pointerId }: PointerEvent) => {
      if (touch?.id === pointerId) end(true);
    };
    const onCancel = () => end(false);
    const listeners = { pointerdown: onDown, pointermove: onMove, pointerup: onUp };
    for (const [type, on] of Object.entries(listeners)) {
      element.addEventListener(type, on as EventListener);
    }
    element.addEventListener("pointercancel", onCancel);
    return () => {
      for (const [type, on] of Object.entries(listeners)) {
        element.removeEventListener(type, on as EventListener);
      }
      element.removeEventListener("pointercancel", onCancel);
      end(false);
    };
  }, []);
}

function isSelecting(): boolean {
  return getSelection()?.isCollapsed === false;
}

/** Whether a finger there means something else: a field, a dialog, a selection, a box that scrolls sideways. */
function isTaken(target: Element, area: Element): boolean {
  if (target.closest(TAKEN) || isSelecting()) return true;
  for (let at: Element | null = target; at && at !== area; at = at.parentElement) {
    const scrolls = at.scrollWidth > at.clientWidth + 1 &&
      /auto|scroll/.test(getComputedStyle(at).overflowX);
    if (scrolls) return true;
  }
  return false;
}
