/** What the transcript draws: an item is a row, a long text is one for each of its blocks. */
import { type Block, Blocks } from "./blocks.ts";
import type { Item, TextItem } from "../../../src/session/view.ts";
import { noteText, questionText } from "./item_text.ts";

export interface BlockRow {
  kind: "block";
  key: string;
  item: TextItem;
  block: Block;
  /** The first of its text. */
  first: boolean;
}

export interface ItemRow {
  kind: "item";
  key: string;
  item: Exclude<Item, TextItem>;
}

export type Row = BlockRow | ItemRow;

interface Made {
  revision: number;
  blocks: Blocks;
  rows: Row[];
}

/** Makes the rows of a conversation; what has not changed keeps its rows. */
export class RowMaker {
  readonly #made = new WeakMap<Item, Made>();

  rows(items: readonly Item[]): Row[] {
    return items.flatMap((item) => this.#rowsOf(item));
  }

  #rowsOf(item: Item): Row[] {
    let made = this.#made.get(item);
    if (made?.revision === item.revision) return made.rows;
    made ??= { revision: -1, blocks: new Blocks(), rows: [] };
    made.revision = item.revision;
    made.rows = item.kind === "text"
      // What set it apart from the step before is not shown.
      ? made.blocks.update(item.text.replace(/^\n+/, "")).map((block, n): BlockRow => ({
        kind: "block",
        key: `${item.key}.${n}`,
        item,
        block,
        first: n === 0,
      }))
      : [{ kind: "item", key: item.key, item }];
    this.#made.set(item, made);
    return made.rows;
  }
}

/** Characters that fit a line of the transcript, roughly. */
const LINE_CHARS = 95;
const LINE_PX = 22;

/** Height in pixels that a row will have, roughly: it is measured once it is drawn. */
export function estimatedHeight(row: Row): number {
  const folded = row.kind === "item" && (row.item.kind === "tool" || row.item.kind === "thought");
  const text = folded ? "" : rowText(row);
  return 20 + LINE_PX * Math.max(1, Math.ceil(text.length / LINE_CHARS), text.split("\n").length);
}

/** What a search looks at. */
export function rowText(row: Row): string {
  if (row.kind === "block") return row.block.raw;
  const { item } = row;
  if (item.kind === "note") return noteText(item);
  if (item.kind === "question") return questionText(item);
  if (item.kind !== "tool") return item.text;
  const { tool, args, outcome } = item;
  return `${tool} ${JSON.stringify(args)} ${outcome?.output ?? ""}`;
}
