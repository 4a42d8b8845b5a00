/** What the transcript draws: an item is a row, a long text is one for each of its blocks. */
import { type Block, Blocks } from "./blocks.ts";
import type { Item, TextItem, ToolItem } from "../../../src/session/view.ts";
import { noteText, questionText } from "./item_text.ts";
import { isReading } from "./reads.ts";

export interface BlockRow {
  kind: "block";
  key: string;
  item: TextItem;
  block: Block;
  /** The first of its text. */
  first: boolean;
  /** The last of its text. */
  last: boolean;
}

export interface ItemRow {
  kind: "item";
  key: string;
  item: Exclude<Item, TextItem>;
}

/** Calls in a row that only read. */
export interface ReadsRow {
  kind: "reads";
  key: string;
  items: readonly ToolItem[];
}

export type Row = BlockRow | ItemRow | ReadsRow;

/** Grows when what a row shows has changed. */
export function revisionOf(row: Row): number {
  if (row.kind !== "reads") return row.item.revision;
  return row.items.reduce((sum, { revision }) => sum + revision + 1, 0);
}

/** How far from a position in the journal a row is. */
export function distanceTo(row: Row, seq: number): number {
  const items = row.kind === "reads" ? row.items : [row.item];
  return Math.min(...items.map((it) => Math.abs(it.seq - seq)));
}

interface Made {
  revision: number;
  blocks: Blocks;
  rows: Row[];
}

/** Makes the rows of a conversation; what has not changed keeps its rows. */
export class RowMaker {
  readonly #made = new WeakMap<Item, Made>();

  rows(all: readonly Item[]): Row[] {
    const items = all.filter(isShown);
    const rows: Row[] = [];
    for (let n = 0; n < items.length;) {
      const reads = readsFrom(items, n);
      if (reads.length > 1) {
        rows.push({ kind: "reads", key: `reads-${reads[0].key}`, items: reads });
      } else rows.push(...this.#rowsOf(items[n]));
      n += Math.max(1, reads.length);
    }
    return rows;
  }

  #rowsOf(item: Item): Row[] {
    let made = this.#made.get(item);
    if (made?.revision === item.revision) return made.rows;
    made ??= { revision: -1, blocks: new Blocks(), rows: [] };
    made.revision = item.revision;
    made.rows = item.kind === "text"
      // What set it apart from the step before is not shown.
      ? made.blocks.update(item.text.replace(/^\n+/, "")).map((block, n, { length }): BlockRow => ({
        kind: "block",
        key: `${item.key}.${n}`,
        item,
        block,
        first: n === 0,
        last: n === length - 1,
      }))
      : [{ kind: "item", key: item.key, item }];
    this.#made.set(item, made);
    return made.rows;
  }
}

/** What waits for a turn of its own is in the list above the box. */
function isShown(item: Item): boolean {
  return item.kind !== "user" || !item.queued;
}

/** All of a conversation in words, in its order. */
export function textOf(items: readonly Item[]): string {
  return items.filter(isShown).map((it) => itemText(it).trim()).join("\n\n");
}

/** The calls from a place on that only read, up to one that does more. */
function readsFrom(items: readonly Item[], from: number): ToolItem[] {
  const reads: ToolItem[] = [];
  for (let n = from; n < items.length; n++) {
    const item = items[n];
    if (item.kind !== "tool" || !isReading(item)) break;
    reads.push(item);
  }
  return reads;
}

/** Characters that fit a line of the transcript, roughly. */
const LINE_CHARS = 95;
const LINE_PX = 22;

/** Height in pixels that a row will have, roughly: it is measured once it is drawn. */
export function estimatedHeight(row: Row): number {
  const folded = row.kind === "reads" ||
    row.kind === "item" && (row.item.kind === "tool" || row.item.kind === "thought");
  const text = folded ? "" : rowText(row);
  return 20 + LINE_PX * Math.max(1, Math.ceil(text.length / LINE_CHARS), text.split("\n").length);
}

/** What a search looks at. */
export function rowText(row: Row): string {
  if (row.kind === "block") return row.block.raw;
  if (row.kind === "reads") return row.items.map(callText).join("\n");
  return itemText(row.item);
}

function itemText(item: Item): string {
  if (item.kind === "note") return noteText(item);
  if (item.kind === "question") return questionText(item);
  return item.kind === "tool" ? callText(item) : item.text;
}

function callText({ tool, args, outcome }: ToolItem): string {
  return `${tool} ${JSON.stringify(args)} ${outcome?.output ?? ""}`;
}
