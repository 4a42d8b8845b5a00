/** The entries of the transcript: added, grown, and kept within bounds. */
import type { Entry, Model } from "./model.ts";

/** Characters kept of one entry; the older half is dropped first. */
export const ENTRY_MAX = 256 * 1024;
/** Characters kept of all entries. */
export const ENTRIES_MAX = 512 * 1024;
const ENTRIES_COUNT = 5_000;
const CUT = "[… earlier text is in the journal]";

/** Adds an entry at the end. @param text clean. */
export function addEntry(
  model: Model,
  kind: Entry["kind"],
  text: string,
  more: Partial<Entry> = {},
): Entry {
  const entry = newEntry(model, kind, text, more);
  model.entries.push(entry);
  trim(model);
  return entry;
}

/** Creates an entry outside the transcript, such as a lane's output. */
export function newEntry(
  model: Model,
  kind: Entry["kind"],
  text: string,
  more: Partial<Entry> = {},
): Entry {
  const id = model.next_entry++;
  const entry: Entry = { id, kind, lines: [""], epoch: 0, size: 0, ...more };
  growEntry(entry, text);
  return entry;
}

/** Appends text to an entry. @param text clean. @param max characters kept of it. */
export function growEntry(entry: Entry, text: string, max = ENTRY_MAX): void {
  const [first, ...rest] = text.split("\n");
  entry.lines[entry.lines.length - 1] += first;
  for (const line of rest) entry.lines.push(line);
  entry.size += text.length;
  if (entry.size > max) dropFront(entry, max / 2);
}

/** Drops the last lines of an entry, and starts a new one. @returns how many there were */
export function dropLines(entry: Entry, count: number): number {
  const gone = entry.lines.splice(Math.max(entry.lines.length - count, 0));
  entry.looks?.splice(entry.lines.length);
  entry.lines.push("");
  entry.size = entry.lines.reduce((sum, { length }) => sum + length + 1, -1);
  entry.epoch++;
  return gone.length;
}

/** Puts what another entry has in front of an entry's text. */
export function prependToEntry(entry: Entry, before: Entry): void {
  const lines = before.lines.slice(0, -1);
  const joint = before.lines.at(-1)!;
  const [first = [], ...later] = entry.looks ?? [];
  const moved = first.map((it, n) => n % 3 === 0 ? it + joint.length : it);
  entry.lines.splice(0, 1, ...lines, joint + entry.lines[0]);
  if (entry.looks !== undefined || before.looks !== undefined) {
    const looks = Array.from(before.lines, (_, n) => before.looks?.[n] ?? []);
    looks[lines.length] = [...looks[lines.length], ...moved];
    entry.looks = [...looks.map((it) => it.length === 0 ? undefined : it), ...later];
  }
  entry.size += before.size;
  entry.epoch++;
}

/** Removes an entry from the transcript. */
export function removeEntry(model: Model, id: number | undefined): void {
  model.entries = model.entries.filter((entry) => entry.id !== id);
}

function dropFront(entry: Entry, keep: number): void {
  let dropped = 0;
  let at = 0;
  while (entry.size - dropped > keep && at < entry.lines.length - 1) {
    dropped += entry.lines[at++].length + 1;
  }
  const rest = entry.lines.slice(at);
  rest[0] = rest[0].slice(-keep).toWellFormed();
  entry.lines = [CUT, ...rest];
  entry.looks = entry.looks && [undefined, undefined, ...entry.looks.slice(at + 1)];
  entry.size = entry.lines.reduce((sum, { length }) => sum + length + 1, -1);
  entry.epoch++;
}

function trim(model: Model): void {
  const { entries } = model;
  let size = entries.reduce((sum, entry) => sum + entry.size, 0);
  let dropped = 0;
  while (
    dropped < entries.length - 1 &&
    (size > ENTRIES_MAX || entries.length - dropped > ENTRIES_COUNT)
  ) {
    size -= entries[dropped++].size;
  }
  if (dropped === 0) return;
  entries.splice(0, dropped);
  model.cut = true;
}
