/** Search in the transcript, also in what is not drawn. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { distanceTo, type Row, rowText } from "./rows.ts";

export class Search {
  readonly open = signal(false);
  /** How often it was opened: each time the focus goes to its box. */
  readonly opened = signal(0);
  readonly query = signal("");
  /** Indexes of the rows that have it. */
  readonly found = signal<readonly number[]>([]);
  /** The row that was gone to. */
  readonly at = signal(-1);
  /** The seq to go to first, when a search elsewhere led here. */
  #near: number | undefined;

  /** @param seq where to go first */
  constructor(query = "", seq?: number) {
    if (query === "") return;
    this.query.value = query;
    this.open.value = true;
    this.#near = seq;
  }

  /** Opens the box; one that is open gets the focus. */
  show(): void {
    this.open.value = true;
    this.opened.value++;
  }

  /** Looks through the rows. */
  look(rows: readonly Row[]): void {
    const query = this.query.value.toLowerCase();
    const found = query === ""
      ? []
      : rows.flatMap((row, n) => rowText(row).toLowerCase().includes(query) ? [n] : []);
    if (
      found.length !== this.found.peek().length || found.some((n, i) => n !== this.found.peek()[i])
    ) {
      this.found.value = found;
    }
  }

  /** Goes to the place that led here, once. @returns its row */
  arrive(rows: readonly Row[]): number | undefined {
    const near = this.#near;
    if (near === undefined || this.found.peek().length === 0) return undefined;
    this.#near = undefined;
    const away = (n: number) => distanceTo(rows[n], near);
    return this.at.value = this.found.peek().reduce((a, b) => away(b) < away(a) ? b : a);
  }

  /** The next row that has it, or, with -1, the one before; round at the ends. */
  step(by: 1 | -1): number | undefined {
    const found = this.found.peek();
    if (found.length === 0) return undefined;
    const here = this.at.peek();
    const next = by === 1
      ? found.find((n) => n > here) ?? found[0]
      : found.findLast((n) => n < here) ?? found.at(-1)!;
    return this.at.value = next;
  }

  close(): void {
    this.open.value = false;
    this.query.value = "";
    this.at.value = -1;
  }
}

/** The box that a conversation is searched with. */
export function TranscriptSearch({ search, onGo }: { search: Search; onGo(row: number): void }) {
  const input = useRef<HTMLInputElement>(null);
  const open = search.open.value;
  useEffect(() => input.current?.focus(), [search.opened.value]);
  if (!open) return null;
  const go = (by: 1 | -1) => {
    const row = search.step(by);
    if (row !== undefined) onGo(row);
  };
  const found = search.found.value;
  const place = found.indexOf(search.at.value) + 1;
  return (
    <search class="transcript-search">
      <Icon name="search" />
      <input
        ref={input}
        type="text"
        aria-label="Search the conversation"
        placeholder="Search the conversation"
        value={search.query}
        onInput={({ currentTarget }) => {
          search.query.value = currentTarget.value;
          search.at.value = -1;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") search.close();
        }}
      />
      <span class="search-count" role="status">
        {search.query.value === ""
          ? ""
          : found.length === 0
          ? "None"
          : `${place > 0 ? `${place} of ` : ""}${found.length}`}
      </span>
      <Button label="Previous" icon="up" tone="quiet" onClick={() => go(-1)} />
      <Button label="Next" icon="down" tone="quiet" onClick={() => go(1)} />
      <Button label="Close search" icon="close" tone="quiet" onClick={() => search.close()} />
    </search>
  );
}

const HIGHLIGHT = "found";

/** What is searched as one text, however many elements it has: coloured code has one for each token. */
const WHOLE = "p, li, td, th, pre, code, button";

/**
 * Marks a text in what is drawn, and in what is drawn later: rows that come into sight, text that is
 * written, code that becomes coloured.
 *
 * @returns what ends it, and takes the marks away.
 */
export function keepMarked(root: HTMLElement, query: string): () => void {
  if (query === "" || !("highlights" in CSS)) return () => {};
  markMatches(root, query);
  const observer = new MutationObserver(() => markMatches(root, query));
  observer.observe(root, { childList: true, characterData: true, subtree: true });
  return () => {
    observer.disconnect();
    CSS.highlights.delete(HIGHLIGHT);
  };
}

/** Without touching the elements. */
function markMatches(root: HTMLElement, query: string): void {
  const ranges: Range[] = [];
  let nodes: Text[] = [];
  let whole: Element | null = null;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    const around = node.parentElement!.closest(WHOLE);
    if (around === null || around !== whole) {
      ranges.push(...matchesIn(nodes, query.toLowerCase()));
      nodes = [];
    }
    whole = around;
    nodes.push(node);
  }
  ranges.push(...matchesIn(nodes, query.toLowerCase()));
  CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
}

/** Where the text of some nodes together has what is wanted. */
function matchesIn(nodes: readonly Text[], wanted: string): Range[] {
  const written = nodes.map(({ data }) => data).join("");
  const lower = written.toLowerCase();
  // A few letters become two: then the places would not fit.
  const text = lower.length === written.length ? lower : written;
  const ranges: Range[] = [];
  let n = 0;
  let before = 0;
  /** The node that has the character at a place, and where; places only grow. */
  const find = (at: number): [Text, number] => {
    while (at - before > nodes[n].length) before += nodes[n++].length;
    return [nodes[n], at - before];
  };
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    const range = new Range();
    range.setStart(...find(at));
    range.setEnd(...find(at + wanted.length));
    ranges.push(range);
  }
  return ranges;
}
