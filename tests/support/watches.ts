/** The directories that the kernel watches for a process (Linux). */

/** How many there are in each of its inotify instances, without those of none. */
export function watchesOf(pid: number): number[] {
  const counts: number[] = [];
  for (const { name } of Deno.readDirSync(`/proc/${pid}/fdinfo`)) {
    try {
      const text = Deno.readTextFileSync(`/proc/${pid}/fdinfo/${name}`);
      const count = text.match(/^inotify /gm)?.length ?? 0;
      if (count > 0) counts.push(count);
    } catch {
      // Closed meanwhile.
    }
  }
  return counts;
}
