/** Messages between the daemon and the thread of the index. */

export const SPEAKERS = ["person", "model", "tool"] as const;
export type Speaker = typeof SPEAKERS[number];

export interface Readable {
  id: string;
  journal_path: string;
  last_seq: number;
}

/** Consecutive words. */
export interface Term {
  /** Letters, digits and marks only. */
  words: string[];
  /** Whether the last word is a prefix. */
  prefix: boolean;
}

export interface Query {
  /** All must match; empty: everything does. */
  terms: readonly Term[];
  who: readonly Speaker[];
  /** Whether the beginning of each text is wanted too. */
  whole?: boolean;
  /** The sessions to search; default: all. */
  among?: readonly string[];
  /** Milliseconds since 1970, inclusive. */
  since?: number;
  until?: number;
  /** Where the page starts. */
  before?: number;
  limit: number;
  order: "newest" | "best";
}

export interface Piece {
  text: string;
  /** Whether it matches the query. */
  match?: true;
}

export interface Found {
  session_id: string;
  seq: number;
  at: string;
  who: Speaker;
  snippet: Piece[];
  text?: string;
}

export interface Answer {
  found: Found[];
  next?: number;
  /** Sessions whose journals are not read completely. */
  pending: number;
}

export type Ask =
  | { kind: "search"; sessions: readonly Readable[]; query: Query }
  | { kind: "remove"; id: string }
  | { kind: "close" };

/** The answer to the ask with this number. */
export interface Told {
  n: number;
  answer?: Answer;
  problem?: string;
}
