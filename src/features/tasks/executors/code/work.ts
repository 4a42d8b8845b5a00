/** How far a code task is, as its engine keeps it for the next daemon. */
import * as z from "zod";

const workSchema = z.object({
  session_id: z.string(),
  /** See {@linkcode TaskContext.canary}: the first prompt has it. */
  canary: z.string(),
  /** The files before the work, as a tree of git. */
  tree: z.string().optional(),
});

export type Work = z.output<typeof workSchema>;

/** Returns the work; undefined for one that cannot be read: the task begins anew. */
export function readWork(text: string | undefined): Work | undefined {
  if (text === undefined) return undefined;
  try {
    return workSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
