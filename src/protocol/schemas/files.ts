/** The files of a session's directory, for people. */
import * as z from "zod";

const kind = () => z.enum(["file", "directory", "symlink", "other"]);

const entrySchema = () =>
  z.object({
    name: z.string(),
    kind: kind().describe("other: a pipe, a socket or a device"),
    leads_to: kind().optional()
      .describe("What a link leads to; absent if that is outside the directory or missing"),
    bytes: z.int().optional().describe("Size of a file"),
  });

export const browsedSchema = () =>
  z.object({
    entries: z.array(entrySchema()).describe("The first 2,000, directories first"),
    total: z.int().describe("Number of entries; those after 20,000 are not counted"),
    truncated: z.boolean().describe("Whether there are more than `entries` has"),
  });

export const previewedSchema = () =>
  z.object({
    kind: z.enum(["text", "image", "binary", "too_large"]),
    text: z.string().optional().describe("Of a text of at most 1 MiB"),
    media_type: z.string().optional().describe("Of an image"),
    data: z.string().optional().describe("An image as base64"),
    bytes: z.int().describe("Size of the file"),
    version: z.string().describe("Another one for another content"),
  });

export const foundSchema = () =>
  z.object({
    paths: z.array(z.string()).describe(
      "Relative to the directory, best first; directories end with a slash. Without files that are ignored by git or hidden from the session's tools",
    ),
    complete: z.boolean().describe("False if the directory is too large to search all of it"),
  });

export type Browsed = z.output<ReturnType<typeof browsedSchema>>;
export type BrowsedEntry = z.output<ReturnType<typeof entrySchema>>;
export type Previewed = z.output<ReturnType<typeof previewedSchema>>;
export type Found = z.output<ReturnType<typeof foundSchema>>;
