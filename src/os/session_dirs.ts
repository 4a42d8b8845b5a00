/** Where sessions can write, for programs beside or without the daemon. */

/**
 * Returns the directories of all sessions in the index, as real paths.
 *
 * @param index_path `sessions-index.json`; a missing or unreadable one has none
 */
export function sessionDirs(index_path: string): string[] {
  let entries: unknown;
  try {
    entries = JSON.parse(Deno.readTextFileSync(index_path));
  } catch {
    return [];
  }
  const found = new Set<string>();
  for (const entry of Object.values(entries ?? {})) {
    const { workdir } = (entry ?? {}) as { workdir?: unknown };
    if (typeof workdir === "string") found.add(workdir);
  }
  return [...found];
}
