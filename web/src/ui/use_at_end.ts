import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** As near to its end a box follows what is written. */
const NEAR_PX = 48;

interface AtEnd<E extends HTMLElement> {
  ref: RefObject<E>;
  onScroll(): void;
}

/**
 * For a box that stays at the end of its content unless the person scrolled away from it.
 *
 * @param content what the box shows: when it is another value, the box is scrolled.
 */
export function useAtEnd<E extends HTMLElement>(content: unknown): AtEnd<E> {
  const ref = useRef<E>(null);
  const at_end = useRef(true);
  useLayoutEffect(() => {
    if (at_end.current && ref.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, [content]);
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = ref.current!;
    at_end.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
  };
  return { ref, onScroll };
}
