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
    renamed_from: z.string().optional()
      .describe("The deleted file that became this one, with few changes or none"),
    added: z.int().optional().describe("Lines; absent for a binary file or a link"),
    deleted: z.int().optional(),
    version: z.string().optional()
      .describe("Another one for another content; absent for a deleted file"),
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

export const hunkSchema = () =>
  z.object({
    old_line: z.int()
      .describe("Number of the first removed line, or of the line that the new ones follow"),
    new_line: z.int()
      .describe("Number of the first added line, or of the line that the removed ones followed"),
    removed: z.array(z.string()).describe("The removed lines"),
    added: z.int().describe("Number of added lines, which are in `text`"),
    unended: z.boolean().optional().describe("Whether the last removed line has no newline"),
  });

export const changedTextSchema = () =>
  z.object({
    kind: z.enum(["text", "link", "binary", "too_large", "gone"]).describe(
      "link: the text is the target; gone: the file does not differ any more",
    ),
    text: z.string().describe("The whole text now; empty for a deleted file"),
    hunks: z.array(hunkSchema()).describe("Where it differs from what was there before"),
    bytes: z.int().optional().describe("Size of the file now; absent for a deleted file"),
  });
