import * as z from "zod";

/** A directory outside of a session's own that its tools may use as well. */
export const addedDirectorySchema = () =>
  z.object({
    path: z.string().describe("Absolute real path"),
    access: z.enum(["read", "write"]),
  });

/** A directory to add. */
export const addDirectorySchema = () =>
  z.object({
    path: z.string().min(1)
      .describe("Absolute, or relative to the working directory"),
    access: z.enum(["read", "write"]).optional()
      .describe("write by default"),
  });
