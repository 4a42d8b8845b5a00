/**
 * Chips in the message being typed: pasted text or a file, shown by a label. In `Input.text` each
 * is one character of a range that nobody can type, so it moves and is deleted like one.
 */
import { kindOf } from "../../protocol/attachments.ts";
import type { Chip, Input, NewChip } from "./input_state.ts";

/** The private characters that stand for chips, for a character class. */
export const CHIPS = "\\u{10F000}-\\u{10FFFD}";
/** Matches one of them. */
export const CHIP = `[${CHIPS}]`;
const FIRST = 0x10f000;
const COUNT = 0x10fffe - FIRST;
/** Code units of such a character. */
const CHARACTER = 2;
const EACH = new RegExp(CHIP, "gu");
/** Splits text into chips and what is between them. */
const APART = new RegExp(`(${CHIP})`, "u");
const UNTYPED = new RegExp(
  `[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f${CHIPS}]`,
  "gu",
);

/** Longer pasted text becomes a chip. */
const LINES_MAX = 10;
const CHARACTERS_MAX = 1_000;
/** Code units, and bytes of files, of all chips. */
const KEPT_MAX = 16 * 1024 * 1024;

/** Returns text as it can be typed: with line feeds, without other control characters and chips. */
export function plainText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(UNTYPED, "");
}

/** Reports whether a text has more lines or characters than this. */
export function isLong(text: string, lines = LINES_MAX, characters = CHARACTERS_MAX): boolean {
  return text.length > characters || linesOf(text) > lines;
}

function linesOf(text: string): number {
  let lines = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = -1; (at = text.indexOf("\n", at + 1)) >= 0;) lines++;
  return lines;
}

/**
 * Creates a chip for the message.
 *
 * @param beside what is about to be inserted with it
 * @returns its character
 */
export function chipFor(input: Input, made: NewChip, beside = ""): string {
  const { text, chips } = input;
  const same = usedIn({ text: text + beside, chips }).filter((it) =>
    labelKind(it) === labelKind(made)
  );
  const n = Math.max(0, ...same.map((it) => it.n)) + 1;
  const char = String.fromCodePoint(FIRST + input.chips_made++ % COUNT);
  input.chips[char] = { ...made, n } as Chip;
  if (kept(input) > KEPT_MAX) dropUnused(input, beside + char);
  return char;
}

/** What the chips hold in memory. */
function kept({ chips }: Input): number {
  return Object.values(chips).reduce(
    (size, it) => size + (it.kind === "text" ? it.text.length : it.bytes),
    0,
  );
}

/** Keeps the chips of the message only; what could bring back others is forgotten. */
function dropUnused(input: Input, made: string): void {
  const used = new Set((input.text + made).match(EACH));
  input.chips = Object.fromEntries(Object.entries(input.chips).filter(([char]) => used.has(char)));
  input.edits = [];
  input.undone = [];
  input.sent = [];
  input.kills = input.kills.filter((it) => it.search(EACH) < 0);
  input.draft = input.draft.replace(EACH, (char) => used.has(char) ? char : "");
}

/** The chips of the message, in their order; one that stands there twice is named twice. */
export function usedIn({ text, chips }: Pick<Input, "text" | "chips">): Chip[] {
  if (Object.keys(chips).length === 0) return [];
  return (text.match(EACH) ?? []).flatMap((char) => chips[char] ?? []);
}

/** Code units of the message, with what its chips stand for. */
export function sizeOf(input: Input): number {
  return usedIn(input).reduce(
    (size, it) => size + (it.kind === "text" ? it.text.length - CHARACTER : 0),
    input.text.length,
  );
}

function labelKind(chip: NewChip): string {
  if (chip.kind === "text") return "Pasted text";
  return kindOf(chip) === "PDF" ? "PDF" : "Image";
}

/** Returns the label of a chip: `[Pasted text #1: 9,999 lines]`. */
export function labelOf(chip: Chip): string {
  const about = chip.kind === "file" ? chip.name : amountOf(chip.text);
  return `[${labelKind(chip)} #${chip.n}: ${about}]`;
}

function amountOf(text: string): string {
  const lines = linesOf(text);
  const [count, unit] = lines > 1 ? [lines, "lines"] : [text.length, "characters"];
  return `${count.toLocaleString("en-US")} ${unit}`;
}

/** Returns a part of the message as it is shown: with labels. */
export function withLabels({ chips }: Pick<Input, "chips">, marked: string): string {
  if (Object.keys(chips).length === 0) return marked;
  return marked.replace(EACH, (char) => chips[char] === undefined ? "" : labelOf(chips[char]));
}

/** A part of the message as it is shown, and where its labels stand in that. */
export interface ShownPart {
  text: string;
  labels: [from: number, to: number][];
}

/** Returns a part of the message as it is shown. @param clean makes text harmless */
export function shownPart(
  { chips }: Pick<Input, "chips">,
  marked: string,
  clean: (text: string) => string,
): ShownPart {
  const labels: ShownPart["labels"] = [];
  let text = "";
  for (const part of marked.split(APART)) {
    const chip = chips[part];
    const from = text.length;
    text += clean(chip === undefined ? plainText(part) : labelOf(chip));
    if (chip !== undefined) labels.push([from, text.length]);
  }
  return { text, labels };
}

/**
 * Returns a part of the message as it is sent: with pasted text.
 *
 * @param files what stands for a file: its label, or its path, which can be pasted again
 */
export function expanded(
  { chips }: Pick<Input, "chips">,
  marked: string,
  files: "labels" | "paths" = "labels",
): string {
  if (Object.keys(chips).length === 0) return marked;
  return marked.replace(EACH, (char) => {
    const chip = chips[char];
    if (chip === undefined) return "";
    if (chip.kind === "text") return chip.text;
    return files === "paths" ? chip.path : labelOf(chip);
  });
}

/** Returns a text that was expanded and changed elsewhere, with the chips that are still whole. */
export function markedFrom(input: Input, edited: string): string {
  const plain = plainText(edited);
  let out = "";
  let at = 0;
  for (const char of input.text.match(EACH) ?? []) {
    const chip = input.chips[char];
    if (chip === undefined) continue;
    const whole = chip.kind === "text" ? chip.text : labelOf(chip);
    const found = plain.indexOf(whole, at);
    if (found < 0) continue;
    out += plain.slice(at, found) + char;
    at = found + whole.length;
  }
  return out + plain.slice(at);
}

/** Messages whose chips come back with Up. */
const SENT_MAX = 50;

/** Remembers the chips of a message that is sent or cleared. */
export function rememberChips(input: Input): void {
  if (usedIn(input).length === 0) return;
  const { text: marked } = input;
  input.sent = [...input.sent, { text: expanded(input, marked), marked }].slice(-SENT_MAX);
}
