/** An edit, and why it is not made. */

/** One replacement, as a model asks for it. */
export interface Edit {
  old_text: string;
  new_text: string;
  /** Replaces every place; else there must be one. */
  replace_all?: boolean;
  /** Takes whole lines only. */
  whole_lines?: boolean;
  /** Takes the first place of several. */
  first?: boolean;
  /** Takes a place at the end of the text only. */
  at_end?: boolean;
}

/** Why an edit is not made; its message is for the model. */
export class EditProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EditProblem";
  }
}
