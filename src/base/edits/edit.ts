/** An edit, and why it is not made. */

/** One replacement, as a model asks for it. */
// fields-ok: the schema is the tool's, and edits are made without it
export interface Edit {
  old_text: string;
  new_text: string;
  /** Replaces every place; else there must be one. */
  replace_all?: boolean;
}

/** Why an edit is not made; its message is for the model. */
export class EditProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EditProblem";
  }
}
