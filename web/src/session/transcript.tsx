import { useSignal } from "@preact/signals";
import type { Range as Rows } from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { APPLE, isTyped, keyOf } from "../ui/keys.ts";
import { Empty } from "../ui/states.tsx";
import { useVirtualizer } from "../ui/use_virtualizer.ts";
import { estimatedHeight, revisionOf, RowMaker, textOf } from "./rows.ts";
import { RowView } from "./row_view.tsx";
import type { SessionStore } from "./store.ts";
import { GROWN } from "./tool_card.tsx";
import { useReadingPlace } from "./use_reading_place.ts";
import { keepMarked, Search, TranscriptSearch } from "./search.tsx";

/** As near to its end the transcript follows what is said. */
const NEAR_PX = 48;
const OVERSCAN = 6;
/** How long a conversation takes to come to rest at its end, before it goes to a place in it. */
const ARRIVE_MS = 50;

interface TranscriptProps {
  store: SessionStore;
  search: Search;
  /** Messages that were sent from this page: who sends one wants to see what comes of it. */
  sent: number;
}

/** Characters of a conversation that are copied at once. */
const COPIED_MAX = 5_000_000;

/** The conversation; only what is near to be seen is drawn. */
export function Transcript({ store, search, sent }: TranscriptProps) {
  const { announcer } = useApp();
  const scroller = useRef<HTMLDivElement>(null);
  const { conversation, version } = store;
  const maker = useMemo(() => new RowMaker(), [conversation]);
  const rows = useMemo(() => maker.rows(conversation.items), [maker, version]);
  // Items grow also between two repaints: a row that is measured then is not drawn for it.
  const revisions = useMemo(() => rows.map(revisionOf), [rows]);
  const following = useSignal(true);
  /** Where it was scrolled to last. */
  const top = useRef(0);
  const query = search.query.value;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (n) => estimatedHeight(rows[n]),
    getItemKey: (n) => rows[n]?.key ?? n,
    overscan: OVERSCAN,
    rangeExtractor: drawnRows,
    holds: !following.peek(),
  });
  const height = virtualizer.getTotalSize();
  const room = virtualizer.scrollRect?.height ?? 0;
  const toEnd = () => {
    following.value = true;
    scroller.current!.scrollTop = scroller.current!.scrollHeight;
  };
  useLayoutEffect(() => {
    if (following.peek()) toEnd();
  }, [height, rows.length, room]);
  useLayoutEffect(() => {
    const measure = ({ target }: Event) => {
      const row = (target as Element).closest<HTMLElement>(".row")!;
      virtualizer.resizeItem(Number(row.dataset.index), row.offsetHeight);
    };
    scroller.current!.addEventListener(GROWN, measure);
    return () => scroller.current?.removeEventListener(GROWN, measure);
  }, []);
  useEffect(() => {
    if (sent > 0) toEnd();
  }, [sent]);
  const go = (n: number) => {
    following.value = false;
    const row = rows[n];
    if (row.kind === "reads") store.toggle(row.key, true);
    else if (row.item.kind === "tool" || row.item.kind === "thought") {
      store.toggle(row.item.key, true);
    }
    virtualizer.scrollToIndex(n, { align: "center" });
  };
  const reading = useReadingPlace({
    scroller,
    rows,
    loaded: store.loaded.value,
    following,
    // Not by scrollToIndex: it would go on scrolling there after the person scrolled.
    scrollToRow: (n) => scroller.current!.scrollTop = virtualizer.getOffsetForIndex(n, "start")![0],
  });
  useEffect(() => {
    search.look(rows);
    const place = search.arrive(rows);
    // What was scrolled to its end just now says so in the next frame.
    if (place !== undefined && !reading.returns()) setTimeout(() => go(place), ARRIVE_MS);
  }, [rows, query]);
  useEffect(() => keepMarked(scroller.current!, query), [query]);

  /** Selects all of it; the browser would select the page, as far as it is drawn. */
  const onKeyDown = (event: KeyboardEvent) => {
    const { ctrlKey, metaKey, altKey, shiftKey } = event;
    const is_all = keyOf(event).toLowerCase() === "a" && (APPLE ? metaKey : ctrlKey);
    if (!is_all || altKey || shiftKey || isTyped(event)) return;
    // A message's dialog is in it.
    if ((event.target as Element).closest("dialog")) return;
    event.preventDefault();
    getSelection()!.selectAllChildren(scroller.current!);
    announcer.say("All of the conversation is selected");
  };
  /** Copies also what is not drawn, where all is selected. */
  const onCopy = (event: ClipboardEvent) => {
    const { anchorNode, focusNode, isCollapsed } = getSelection()!;
    const box = scroller.current;
    if (isCollapsed || anchorNode !== box || focusNode !== box) return;
    event.preventDefault();
    const text = textOf(conversation.items);
    event.clipboardData!.setData("text/plain", text.slice(0, COPIED_MAX).toWellFormed());
    if (text.length > COPIED_MAX) {
      announcer.alert("The conversation is long: only its first 5 million characters are copied.");
    } else announcer.say("Copied");
  };

  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = scroller.current!;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) following.value = true;
    // What has grown since it was scrolled to its end leaves it there: the person did not go away.
    else if (scrollTop < top.current) following.value = false;
    top.current = scrollTop;
    reading.onScroll();
  };
  // It will be scrolled there: drawn right at once, it is not drawn again after the scroll.
  if (following.peek()) {
    virtualizer.scrollOffset = Math.max(0, height - room);
  }
  const shown = virtualizer.getVirtualItems();
  return (
    <div class="transcript-frame">
      <TranscriptSearch
        search={search}
        onGo={go}
      />
      <div
        ref={scroller}
        class="transcript"
        role="log"
        aria-live="off"
        aria-label="Conversation"
        tabIndex={0}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        onCopy={onCopy}
      >
        {rows.length === 0 && store.loaded.value && (
          <Empty icon="sessions" title="No messages yet">
            <p>Describe what to do.</p>
          </Empty>
        )}
        <div class="transcript-all" style={{ height: `${height}px` }}>
          <div
            class="transcript-shown"
            style={{ transform: `translateY(${shown[0]?.start ?? 0}px)` }}
          >
            {shown.map(({ index, key }) => (
              <div
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                data-key={rows[index].key}
                class={search.at.value === index && query !== "" ? "row at" : "row"}
              >
                <RowView
                  row={rows[index]}
                  revision={revisions[index]}
                  newest={index === rows.length - 1}
                  store={store}
                />
              </div>
            ))}
          </div>
        </div>
      </div>
      {!following.value && <Button class="to-end" icon="down" onClick={toEnd}>Newest</Button>}
    </div>
  );
}

/** Rows, above and below, that are drawn because they are selected: more would make the page slow. */
const SELECTED_MAX = 1_000;

/** What is drawn: also all that is selected, as a row that goes would take the selection with it. */
function drawnRows({ startIndex, endIndex, overscan, count }: Rows): number[] {
  const { anchorNode, focusNode, isCollapsed } = getSelection()!;
  const selected = [anchorNode, focusNode].flatMap((node) => {
    const element = node instanceof Element ? node : node?.parentElement;
    const row = element?.closest<HTMLElement>(".transcript .row");
    return isCollapsed || !row ? [] : [Number(row.dataset.index)];
  });
  const least = Math.max(0, startIndex - SELECTED_MAX);
  const most = Math.min(count - 1, endIndex + SELECTED_MAX);
  const first = Math.max(least, Math.min(startIndex - overscan, ...selected));
  const last = Math.min(most, Math.max(endIndex + overscan, ...selected));
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
}
