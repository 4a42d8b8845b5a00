import * as z from "zod";

export const focus = () => z.enum(["input", "approval", "lanes", "transcript"]);

export function regionSchema() {
  const schema = z.object({
    role: z.string(),
    name: z.string(),
    text: z.string().optional(),
    focused: z.boolean().optional(),
    get children() {
      return z.array(schema).optional();
    },
  });
  return schema;
}

export const snapshotSchema = () =>
  z.object({
    view: z.string().describe("The text of the screen, one line per row"),
    tree: z.array(regionSchema()).describe("An outline of the screen"),
    focus: focus(),
    seq: z.int().describe("The last event that the screen includes"),
  });
