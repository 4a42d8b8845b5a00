/** The directories that a person adds to a session, as they are written and shown. */
import type * as z from "zod";
import type { addDirectorySchema, addedDirectorySchema } from "./schemas/added_directory.ts";

export type AddedDirectory = z.output<ReturnType<typeof addedDirectorySchema>>;
export type AddDirectory = z.output<ReturnType<typeof addDirectorySchema>>;

/** Parses `DIR`, `DIR:ro` or `DIR:rw`, as container tools write a mount. */
export function parseAddDirectory(text: string): AddDirectory {
  const [, path, mode] = /^(.+):(ro|rw)$/s.exec(text) ?? [];
  if (path === undefined) return { path: text, access: "write" };
  return { path, access: mode === "ro" ? "read" : "write" };
}

/** Describes an added directory in a few words. */
export function addedDirectoryText({ path, access }: AddedDirectory): string {
  return access === "read" ? `${path} (read-only)` : path;
}

/** Lists added directories in one line. */
export function addedDirectoriesText(directories: readonly AddedDirectory[]): string {
  return directories.map(addedDirectoryText).join(", ") || "none";
}
