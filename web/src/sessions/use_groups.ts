import { useSignal } from "@preact/signals";
import { type RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Group, groupsOf, ordered } from "./groups.ts";
import type { SessionItem } from "./list.ts";

/**
 * Sessions by directory, for a list that somebody may be reading: nothing changes its place while the
 * pointer or the focus is in the list.
 *
 * @param list the element of the list
 */
export function useGroups(items: readonly SessionItem[], list: RefObject<HTMLElement>): Group[] {
  const before = useRef<string[]>([]);
  const left = useSignal(0);
  left.value;
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    const onLeave = () => left.value++;
    element.addEventListener("pointerleave", onLeave);
    element.addEventListener("focusout", onLeave);
    return () => {
      element.removeEventListener("pointerleave", onLeave);
      element.removeEventListener("focusout", onLeave);
    };
  }, [items.length === 0]);
  const held = list.current?.matches(":hover, :focus-within") ?? false;
  const shown = ordered(items, held ? before.current : []);
  before.current = shown.map(({ id }) => id);
  return groupsOf(shown);
}
