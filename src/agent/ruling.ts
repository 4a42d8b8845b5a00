/** What the person's rules say about a call, from the permissions feature. */
export interface Ruling {
  /** Undefined if no rule decides. */
  action?: "allow" | "ask" | "deny";
  /** The deciding rule and where it is, in one line to show. */
  by?: string;
  /** The text of that rule. */
  rule?: string;
  /** Returns the rules that a person may keep for such calls. */
  choices?(): string[];
}
