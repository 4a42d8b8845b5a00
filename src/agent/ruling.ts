/** What the person's rules say about a call; the feature of permissions knows them. */
export interface Ruling {
  /** Undefined when no rule decides. */
  action?: "allow" | "ask" | "deny";
  /** The rule that decided and where it is, in one line that can be shown. */
  by?: string;
  /** The text of that rule. */
  rule?: string;
  /** Returns the texts of the rules that a person may keep for such calls. */
  choices?(): string[];
}
