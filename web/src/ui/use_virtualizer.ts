import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

type Options = Pick<
  VirtualizerOptions<HTMLElement, HTMLElement>,
  "count" | "getScrollElement" | "estimateSize" | "getItemKey" | "overscan" | "rangeExtractor"
>;

/**
 * Draws only what is in sight of a long list; rows are measured when they are drawn.
 *
 * @param options.holds whether what is in sight stays there when rows above it come or go
 */
export function useVirtualizer(
  { holds = false, ...options }: Options & { holds?: boolean },
): Virtualizer<HTMLElement, HTMLElement> {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const all: VirtualizerOptions<HTMLElement, HTMLElement> = {
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined),
    ...options,
  };
  const [virtualizer] = useState(() => new Virtualizer(all));
  const before = holds ? inSight(virtualizer) : [];
  virtualizer.setOptions(all);
  const back = wayBack(virtualizer, before);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => back?.());
  return virtualizer;
}

type List = Virtualizer<HTMLElement, HTMLElement>;

/** The rows in sight where they were: first those whose beginning is seen, the upper ones first. */
function inSight(list: List): VirtualItem[] {
  // By the heights that are known now: for these it has been scrolled already.
  list.getTotalSize();
  const { range, measurementsCache } = list;
  if (!range) return [];
  const [cut, ...rows] = measurementsCache.slice(range.startIndex, range.endIndex + 1);
  return cut ? [...rows, cut] : [];
}

/**
 * Has the list drawn where the first of the rows that is still there is now.
 *
 * @returns what scrolls it to where it was seen, once it is drawn; undefined when it did not move
 */
function wayBack(list: List, before: readonly VirtualItem[]): (() => void) | undefined {
  list.getTotalSize();
  const now = list.measurementsCache;
  for (const { key, start } of before) {
    const row = now.find((it) => it.key === key);
    const drawn = list.elementsCache.get(key);
    if (!row || !drawn) continue;
    const away = row.start - start;
    if (!away) return;
    list.scrollOffset! += away;
    const { top } = drawn.getBoundingClientRect();
    return () => {
      // Known only later, the new heights of rows above would be scrolled for a second time.
      for (const node of list.elementsCache.values()) {
        if (node.isConnected) list.resizeItem(list.indexFromElement(node), node.offsetHeight);
      }
      list.scrollElement!.scrollTop += drawn.getBoundingClientRect().top - top;
    };
  }
}
