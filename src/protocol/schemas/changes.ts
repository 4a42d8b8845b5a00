/** Changes of files by a session's turns. */
import * as z from "zod";

const counts = () => ({
  files_changed: z.int().describe("Number of all changed files"),
  added: z.int().describe("Lines"),
  deleted: z.int().describe("Lines"),
});

const exclusionSchema = () =>
  z.object({
    path: z.string(),
    reason: z.enum(["size", "name", "unreadable", "repository", "ignored"]),
  });

export const changedFileSchema = () =>
  z.object({
    path: z.string(),
    change: z.enum(["added", "changed", "deleted", "mode"]),
    added: z.int().optional().describe("Lines; absent for a binary file or a link"),
    deleted: z.int().optional(),
  });

const turnChangesSchema = () =>
  z.object({
    turn_id: z.string(),
    message_id: z.string().describe("The message that started the turn"),
    at: z.string(),
    undone: z.boolean().describe("Whether a rewind took the changes of the turn back"),
    cut_off: z.boolean()
      .describe("Whether the turn was cut off; others may have made some of its changes"),
    ...counts(),
  });

export const changesSchema = () =>
  z.object({
    turns: z.array(turnChangesSchema()).describe(
      "Turns that may have written something, oldest first",
    ),
    files: z.array(changedFileSchema()),
    ...counts(),
    patch: z.string().describe("Unified diff"),
    truncated: z.boolean(),
    others: z.array(z.string())
      .describe("Files that somebody else changed since the last turn or rewind"),
    excluded: z.array(exclusionSchema()).describe("Files that are not kept, and why"),
    problem: z.string().optional().describe("Why changes cannot be undone"),
  });
