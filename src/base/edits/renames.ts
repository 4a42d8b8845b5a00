/** Parses the renames that git found. */
export interface Renamed {
  /** The path before. */
  from: string;
  /** Lines; absent for a binary file. */
  added?: number;
  deleted?: number;
}

/** Parses `git diff --numstat -z --diff-filter=R`. @returns renames by their new paths */
export function parseRenames(output: string): Map<string, Renamed> {
  const parts = output.split("\0");
  const found = new Map<string, Renamed>();
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [added, deleted] = parts[at].split("\t");
    const counts = added === "-" ? {} : { added: Number(added), deleted: Number(deleted) };
    found.set(parts[at + 2], { from: parts[at + 1], ...counts });
  }
  return found;
}
