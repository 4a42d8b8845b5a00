/** A replacement in a file, as a model asks for it. */
import * as z from "zod";

export const editSchema = () =>
  z.strictObject({
    old_text: z.string().min(1),
    new_text: z.string(),
    replace_all: z.boolean().optional(),
  });
