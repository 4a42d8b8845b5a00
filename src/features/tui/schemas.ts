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

/** What an attached terminal answers to a request. */
export const answerSchema = () =>
  z.object({
    request_id: z.string(),
    result: z.unknown().optional(),
    error: z.object({
      code: z.enum([
        "validation",
        "not_found",
        "not_implemented",
        "permission_denied",
        "internal",
      ]).catch("internal"),
      message: z.string(),
      hint: z.string().optional(),
    }).optional(),
  });
