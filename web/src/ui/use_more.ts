import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** As near to its end a list draws more of itself. */
const NEAR = "600px";

/**
 * Draws more of a long list when its end comes near to be seen.
 *
 * @param shown how many of its entries are drawn
 * @param step how many more are drawn each time
 * @returns for an element after the list; a button in it does the same by hand
 */
export function useMore(shown: Signal<number>, step: number): RefObject<HTMLDivElement> {
  const end = useRef<HTMLDivElement>(null);
  const drawn = shown.value;
  useEffect(() => {
    if (end.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) shown.value = drawn + step;
    }, { root: end.current.closest("main"), rootMargin: `0px 0px ${NEAR} 0px` });
    observer.observe(end.current);
    return () => observer.disconnect();
  });
  return end;
}
