/** What the daemon and the thread of the index tell each other. */

/** Who said something. */
export const SPEAKERS = ["person", "model", "tool"] as const;
export type Speaker = typeof SPEAKERS[number];

/** A session whose journal can be read. */
export interface Readable {
  id: string;
  journal_path: string;
  last_seq: number;
}

/** Words that stand together. */
export interface Term {
  /** Of letters, digits and marks alone. */
  words: string[];
  /** Whether the last one is only a beginning. */
  prefix: boolean;
}

export interface Query {
  /** All of them must be found. */
  terms: readonly Term[];
  who: readonly Speaker[];
  /** The sessions that may be found; all where it is missing. */
  among?: readonly string[];
  /** Milliseconds since 1970, both ends included. */
  since?: number;
  until?: number;
  /** Where the page begins. */
  before?: number;
  limit: number;
  order: "newest" | "best";
}

export interface Piece {
  text: string;
  /** Whether it is one of the words that were looked for. */
  match?: true;
}

export interface Found {
  session_id: string;
  seq: number;
  at: string;
  who: Speaker;
  snippet: Piece[];
}

export interface Answer {
  found: Found[];
  next?: number;
  /** Sessions whose journals have not been read to their ends yet. */
  pending: number;
}

export type Ask =
  | { kind: "search"; sessions: readonly Readable[]; query: Query }
  | { kind: "remove"; id: string }
  | { kind: "close" };

/** Of the answer to the ask with that number. */
export interface Told {
  n: number;
  answer?: Answer;
  problem?: string;
}
