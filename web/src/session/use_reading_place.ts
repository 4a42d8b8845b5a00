/** Where a person reads in a conversation: Back and a reload lead there again. */
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useApp } from "../app.ts";
import { distanceTo, firstItem, type Row } from "./rows.ts";

/** By which name an entry of the history keeps it. */
const NAME = "read_at";
/** It is kept as JSON: entries of the history are compared. */
type Place = [
  /** How much of the row is above the top of the conversation, in pixels. */
  above: number,
  key: string,
  seq: number,
  /** Of its first call, or empty. */
  call_id: string,
];
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
    if (left.place === undefined) return;
    const place: Place = JSON.parse(left.place);
    const n = rowAt(rows, place, loaded);
    if (n >= 0 || loaded) left.place = undefined;
    if (n < 0) return;
    left.found = true;
    following.value = false;
    settle(scroller.current!, rows[n].key, place[0], () => scrollToRow(n));
  }, [rows, loaded]);
  return {
    returns: () => left.found || left.place !== undefined,
    onScroll() {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        if (left.place !== undefined) return;
        const place = following.peek() ? "" : placeIn(scroller.current!, rows);
        if (place !== (router.kept(NAME) ?? "")) router.keep(NAME, place);
      }, SCROLLED_MS);
    },
  };
}

/** The row that the top of the conversation cuts, and how many pixels of it are above. */
function placeIn(scroller: HTMLElement, rows: readonly Row[]): string {
  const { top } = scroller.getBoundingClientRect();
  const drawn = [...scroller.querySelectorAll<HTMLElement>(".row[data-key]")];
  const cut = drawn.find((it) => it.getBoundingClientRect().bottom > top);
  const row = rows.find(({ key }) => key === cut?.dataset.key);
  if (cut === undefined || row === undefined) return "";
  // Not whole pixels: rounded at each return, the place would drift.
  const above = Math.max(0, Math.round((top - cut.getBoundingClientRect().top) * 100) / 100);
  return JSON.stringify([above, row.key, firstItem(row).seq, callOf(row)] satisfies Place);
}

function callOf(row: Row): string {
  const item = firstItem(row);
  return item.kind === "tool" ? item.call_id : "";
}

/**
 * The row of a place, or -1. In a checkpoint items have other keys, and calls the seq at which their
 * step began: with all rows there, it is the nearest of the same call, or the nearest.
 */
function rowAt(rows: readonly Row[], [, key, seq, call_id]: Place, all: boolean): number {
  const n = rows.findIndex((row) => row.key === key && firstItem(row).seq === seq);
  if (n >= 0 || !all || seq === 0) return n;
  const [block] = key.match(/\.\d+$/) ?? [""];
  const other = (row: Row) => callOf(row) === call_id ? 0 : 1e9;
  const away = (row: Row) =>
    distanceTo(row, seq) + other(row) + (row.key.endsWith(block) ? 0 : 0.5);
  return rows.reduce((best, row, n) => best < 0 || away(row) < away(rows[best]) ? n : best, -1);
}

/**
 * Scrolls until a row is at its place: rows get their heights when they are drawn. It ends when
 * the person does anything.
 */
function settle(scroller: HTMLElement, key: string, above: number, draw: () => void): void {
  let frames = 0;
  const acted = new AbortController();
  const { signal } = acted;
  for (const act of ["wheel", "pointerdown", "keydown"]) {
    addEventListener(act, () => acted.abort(), { passive: true, signal });
  }
  const step = () => {
    if (signal.aborted) return;
    // Its listeners go with it.
    if (!scroller.isConnected || frames++ >= FRAMES) return acted.abort();
    const row = scroller.querySelector(`.row[data-key="${CSS.escape(key)}"]`);
    if (row === null) draw();
    else {
      const box = scroller.getBoundingClientRect();
      const away = row.getBoundingClientRect().top + above - box.top;
      if (Math.abs(away) > 0.5) scroller.scrollTop += away;
    }
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
