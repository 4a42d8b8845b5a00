/** A list that takes the place of the conversation until something of it is chosen. */
import { fuzzyScore } from "../../base/fuzzy.ts";
import type { Effect, PickerKind } from "./effect.ts";
import type { Key } from "./keys.ts";
import { cleanLine, graphemes } from "./text.ts";

/** What choosing an entry does. */
export type Chosen =
  | { effects: readonly Effect[] }
  | { picker: PickerKind }
  /** Begins the message with it. */
  | { insert: string }
  /** Asks for a line of text. */
  | { ask: Asked };

/** A line of text that is asked for, as a title or an API key. */
export interface Asked {
  title: string;
  /** Of what the text is: the parameters are added to it. */
  effect: "rename" | "save_key";
  provider?: string;
  secret: boolean;
}

/** An entry. Its texts are clean. */
export interface Choice {
  label: string;
  /** Beside it. */
  detail?: string;
  /** Of a session: its id, for the preview. */
  session_id?: string;
  /** Whether it is what holds now. */
  current?: boolean;
  does: Chosen;
}

export interface Picker {
  kind: PickerKind | "undo" | "ask";
  title: string;
  query: string;
  /** All entries, in their order. */
  choices: readonly Choice[];
  /** Index of the chosen one among those that fit the query. */
  at: number;
  loading: boolean;
  problem?: string;
  /** What is asked for instead of a choice. */
  asked?: Asked;
  /** Entries that were found for the query, after those that fit it. */
  found?: { query: string; choices: readonly Choice[] };
  /** Lines about the chosen entry. */
  preview?: { of: string; lines: string[] };
}

/** A line that nobody is to see: it is no part of what the model shows of itself. */
export class Secret {
  #text = "";

  get text(): string {
    return this.#text;
  }

  set text(text: string) {
    this.#text = text;
  }
}

const PAGE = 10;
/** Entries that fit about as well stay in their order. */
const RANK = 1_000;
/** Below every fitting label. */
const BY_DETAIL = -10_000;
/** Longer lines are cut: nobody types them. */
const QUERY_MAX = 1_000;

/** Returns a list whose entries are still to come. */
export function beginPicker(kind: Picker["kind"], title: string): Picker {
  return { kind, title, query: "", choices: [], at: 0, loading: true };
}

interface Fitting {
  query: string;
  found: Picker["found"];
  fitting: readonly Choice[];
}

const FITTING = new WeakMap<readonly Choice[], Fitting>();

/** The entries that fit what was typed, best first. */
export function fittingChoices({ choices, query, found }: Picker): readonly Choice[] {
  const known = FITTING.get(choices);
  if (known?.query === query && known.found === found) return known.fitting;
  const fitting = query === "" ? choices : ranked(choices, query);
  const ids = new Set(fitting.map(({ session_id }) => session_id));
  const more = query === "" ? [] : found?.choices.filter((it) => !ids.has(it.session_id)) ?? [];
  const all = more.length === 0 ? fitting : [...fitting, ...more];
  FITTING.set(choices, { query, found, fitting: all });
  return all;
}

function ranked(choices: readonly Choice[], query: string): Choice[] {
  return choices
    .flatMap((choice, order) => {
      const by_label = fuzzyScore(choice.label, query);
      const by_detail = choice.detail?.toLowerCase().includes(query.toLowerCase());
      const score = by_label ?? (by_detail ? BY_DETAIL : undefined);
      return score === undefined ? [] : [{ choice, order, rank: Math.round(score / RANK) }];
    })
    .sort((a, b) => b.rank - a.rank || a.order - b.order)
    .map(({ choice }) => choice);
}

/** The chosen entry, if one fits. */
export function chosenOf(picker: Picker): Choice | undefined {
  return fittingChoices(picker)[picker.at];
}

/** What a key did to a picker. */
export type PickerPress =
  | { type: "stays" }
  | { type: "closes" }
  | { type: "chose"; does: Chosen }
  | { type: "answered"; asked: Asked; text: string };

/** Handles a key. @param secret of a picker that asks for one */
export function pressPicker(picker: Picker, key: Key, secret: Secret | undefined): PickerPress {
  if (key.type !== "named") {
    type(picker, key.text.replace(/\s+/g, " "), secret);
    return { type: "stays" };
  }
  const { length } = fittingChoices(picker);
  switch (key.name) {
    case "escape":
      return { type: "closes" };
    case "enter":
      return entered(picker, secret);
    case "backspace":
    case "ctrl-h":
      erase(picker, secret);
      return { type: "stays" };
    case "ctrl-u":
    case "ctrl-w":
      if (secret !== undefined) secret.text = "";
      ask(picker, "");
      return { type: "stays" };
  }
  const to = moved(key.name, picker.at, length);
  if (to !== undefined) picker.at = Math.min(Math.max(to, 0), Math.max(length - 1, 0));
  return { type: "stays" };
}

function moved(name: string, at: number, length: number): number | undefined {
  switch (name) {
    case "up":
    case "ctrl-p":
    case "shift-tab":
      return at === 0 ? length - 1 : at - 1;
    case "down":
    case "ctrl-n":
    case "tab":
      return at === length - 1 ? 0 : at + 1;
    case "pageup":
      return at - PAGE;
    case "pagedown":
      return at + PAGE;
    case "home":
      return 0;
    case "end":
      return length - 1;
  }
}

function entered(picker: Picker, secret: Secret | undefined): PickerPress {
  const { asked, query } = picker;
  if (asked !== undefined) {
    const text = (asked.secret ? secret?.text ?? "" : query).trim();
    return text === "" ? { type: "stays" } : { type: "answered", asked, text };
  }
  const choice = chosenOf(picker);
  return choice === undefined ? { type: "stays" } : { type: "chose", does: choice.does };
}

function type(picker: Picker, text: string, secret: Secret | undefined): void {
  if (picker.asked?.secret && secret !== undefined) {
    secret.text = (secret.text + text.trim()).slice(0, QUERY_MAX);
    ask(picker, "•".repeat(Math.min(secret.text.length, 40)));
  } else ask(picker, (picker.query + cleanLine(text)).slice(0, QUERY_MAX).toWellFormed());
}

function erase(picker: Picker, secret: Secret | undefined): void {
  if (picker.asked?.secret && secret !== undefined) {
    secret.text = secret.text.slice(0, -1);
    ask(picker, "•".repeat(Math.min(secret.text.length, 40)));
  } else ask(picker, graphemes(picker.query).slice(0, -1).join(""));
}

function ask(picker: Picker, query: string): void {
  picker.query = query;
  picker.at = 0;
}
