/** An edit, and why it is not made. */
import type * as z from "zod";
import type { editSchema } from "../../protocol/schemas/edit.ts";

/** One replacement; without `replace_all` there must be one place. */
export type Edit = z.output<ReturnType<typeof editSchema>>;

/** Why an edit is not made; its message is for the model. */
export class EditProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EditProblem";
  }
}
