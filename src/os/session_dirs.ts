/** Where sessions can write, for programs of svc that run beside the daemon or without one. */

/**
 * The directories of all sessions that the sessions index knows, as they were checked: real paths.
 *
 * @param index_path `sessions-index.json`; none where there is no such file, or none that can be read.
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
