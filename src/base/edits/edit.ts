/** Edits, and why one is refused. */
import type * as z from "zod";
import type { editSchema } from "../../protocol/schemas/edit.ts";

/** A replacement; without `replace_all` the place must be unique. */
export type Edit = z.output<ReturnType<typeof editSchema>>;

/** Why an edit is refused, for the model. */
export class EditProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EditProblem";
  }
}
