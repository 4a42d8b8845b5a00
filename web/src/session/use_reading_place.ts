/** Where a person reads in a conversation: Back and a reload lead there again. */
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useApp } from "../app.ts";
import type { Row } from "./rows.ts";

/** By which name an entry of the history keeps it: the row at the top, and how far it is above. */
const NAME = "reading";
/** A scroll has ended when nothing moved for so long; browsers refuse what is kept too often. */
const SCROLLED_MS = 100;
/** How long rows may take to get their heights, in frames: some load what they are drawn with. */
const FRAMES = 300;

interface Reading {
  scroller: RefObject<HTMLElement>;
  rows: readonly Row[];
  /** Whether these are all rows. */
  loaded: boolean;
  /** Whether the end is followed. */
  following: Signal<boolean>;
  /** Scrolls until a row is drawn. */
  scrollToRow(n: number): void;
}

interface ReadingPlace {
  /** Whether the conversation was left at a place, and opens there. */
  returns(): boolean;
  /** To be called when it was scrolled. */
  onScroll(): void;
}

/** Keeps the place, and goes there when the conversation is opened again. */
export function useReadingPlace(reading: Reading): ReadingPlace {
  const { scroller, rows, loaded, following, scrollToRow } = reading;
  const { router } = useApp();
  const [left] = useState(() => ({ place: router.kept<string>(NAME) || undefined, found: false }));
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    const [, offset, key = ""] = left.place?.match(/^([\d.]+) (.*)$/s) ?? [];
    let n = rows.findIndex((row) => row.key === key);
    if (n < 0 && loaded) {
      // Checkpoints keep no thoughts and notes: then to what came next.
      const seq = Number(key.match(/\d+/) ?? NaN);
      n = rows.findIndex((row) => parseInt(row.key) > seq);
    }
    if (n >= 0 || loaded) left.place = undefined;
    if (n < 0) return;
    left.found = true;
    following.value = false;
    const found = rows[n].key;
    settle(scroller.current!, found, found === key ? Number(offset) : 0, () => scrollToRow(n));
  }, [rows, loaded]);
  return {
    returns: () => left.found || left.place !== undefined,
    onScroll() {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        if (left.place !== undefined) return;
        const place = following.peek() ? "" : placeIn(scroller.current!);
        if (place !== (router.kept(NAME) ?? "")) router.keep(NAME, place);
      }, SCROLLED_MS);
    },
  };
}

/** The row that the top of the conversation cuts, and how many pixels of it are above. */
function placeIn(scroller: HTMLElement): string {
  const { top } = scroller.getBoundingClientRect();
  const rows = [...scroller.querySelectorAll<HTMLElement>(".row[data-key]")];
  const row = rows.find((it) => it.getBoundingClientRect().bottom > top);
  if (row === undefined) return "";
  const above = Math.max(0, top - row.getBoundingClientRect().top);
  // Not in whole pixels: rounded at each return, the place would drift.
  return `${above.toFixed(2)} ${row.dataset.key}`;
}

/**
 * Scrolls until a row is at its place: rows get their heights when they are drawn. It ends when
 * the person does anything.
 */
function settle(scroller: HTMLElement, key: string, above: number, draw: () => void): void {
  let frames = 0;
  const acted = new AbortController();
  const { signal } = acted;
  const end = () => acted.abort();
  for (const act of ["wheel", "pointerdown", "keydown"]) {
    addEventListener(act, end, { passive: true, signal });
  }
  const step = () => {
    // Its listeners go with it.
    if (signal.aborted || !scroller.isConnected || frames++ >= FRAMES) return end();
    const row = scroller.querySelector(`.row[data-key="${CSS.escape(key)}"]`);
    if (row === null) draw();
    else {
      const box = scroller.getBoundingClientRect();
      scroller.scrollTop += row.getBoundingClientRect().top + above - box.top;
    }
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
