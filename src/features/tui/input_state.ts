/** The message being typed, as data. */
import type { MediaType } from "../../protocol/attachments.ts";
import type { Line } from "./text.ts";

/** What a chip stands for. */
export type Chip =
  & { /** Among those of its kind in the message, from 1. */ n: number }
  & (
    | { kind: "text"; text: string }
    | {
      kind: "file";
      /** Under which the terminal keeps its bytes. */
      key: string;
      name: string;
      media_type: MediaType;
      bytes: number;
      path: string;
    }
  );

type Unnumbered<T> = T extends unknown ? Omit<T, "n"> : never;
export type NewChip = Unnumbered<Chip>;

/** Edits of one kind that follow each other are one step. */
export type EditKind = "type" | "erase" | "other";

/** A replaced part of the message. */
export interface Edit {
  at: number;
  removed: string;
  inserted: string;
  kind: EditKind;
  /** Where the cursor stood before. */
  cursor: number;
}

export interface Input {
  text: string;
  /** Code units before the cursor. */
  cursor: number;
  /** Index in the history while browsing it. */
  recalled?: number;
  /** The text from before that. */
  draft: string;
  /** What was left unsent before, and came when something else was being typed. */
  aside?: string;
  /** By their characters in `text` (`chips.ts`). */
  chips: Record<string, Chip>;
  /** Chips that were ever made. */
  chips_made: number;
  /** The steps that undo takes back, oldest first. */
  edits: Edit[];
  /** The steps that redo makes again. */
  undone: Edit[];
  /** Deleted texts for Ctrl-Y, which inserts the last. */
  kills: string[];
  /** What the key before did, if the next depends on it. */
  last?: "kill" | "yank" | "ctrl-x";
  /** Earlier messages with chips: as they were sent, and with the chips' characters. */
  sent: { text: string; marked: string }[];
}

/** The keys of vi. */
export interface Vi {
  mode: "insert" | "normal";
  /** The count, the operator and what else was typed of a command. */
  typed: string;
}

/** Returns an empty message. */
export function emptyInput(): Input {
  return {
    text: "",
    cursor: 0,
    draft: "",
    chips: {},
    chips_made: 0,
    edits: [],
    undone: [],
    kills: [],
    sent: [],
  };
}

/** The visible rows of the message that is being typed. */
export interface InputRows {
  rows: Line[];
  /** The cursor's position among them. */
  row: number;
  col: number;
}
