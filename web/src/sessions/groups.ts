/** In which order sessions are listed, and in which groups. */
import type { SessionItem } from "./list.ts";

/** The sessions of a directory. */
export interface Group {
  workdir: string;
  items: SessionItem[];
}

/** Whether a session waits for the person. */
export function needsPerson({ pending_approvals_count }: SessionItem): boolean {
  return pending_approvals_count > 0;
}

/**
 * Sorts sessions: those that need the person, then pinned ones, then those that work, then those that
 * changed last.
 *
 * @param before the ids in the order in which they are shown, to be kept; new ones come last
 */
export function ordered(
  items: readonly SessionItem[],
  before: readonly string[] = [],
): SessionItem[] {
  const places = new Map(before.map((id, n) => [id, n]));
  const place = ({ id }: SessionItem) => places.get(id) ?? places.size;
  return [...items].sort((a, b) => place(a) - place(b) || compare(a, b));
}

function compare(a: SessionItem, b: SessionItem): number {
  return rank(a) - rank(b) || (timeOf(a) < timeOf(b) ? 1 : timeOf(a) > timeOf(b) ? -1 : 0);
}

function rank(item: SessionItem): number {
  if (needsPerson(item)) return 0;
  if (item.pinned) return 1;
  return item.activity === "working" ? 2 : 3;
}

/** Two sessions that work have new events all the time: they would change places all the time. */
function timeOf({ activity, started_at, last_event_at }: SessionItem): string {
  return activity === "working" ? started_at : last_event_at;
}

/** Puts sessions together by directory; a directory comes where its first session would. */
export function groupsOf(items: readonly SessionItem[]): Group[] {
  const groups = Map.groupBy(items, ({ workdir }) => workdir);
  return [...groups].map(([workdir, items]) => ({ workdir, items }));
}

/** The first sessions of groups, of each at most so many; groups without any are left out. */
export function firstOf(groups: readonly Group[], max: number, of_group = Infinity): Group[] {
  let left = max;
  return groups.map(({ workdir, items }) => {
    const some = items.slice(0, Math.min(left, of_group));
    left -= some.length;
    return { workdir, items: some };
  }).filter(({ items }) => items.length > 0);
}

/** The directories of sessions, the one used last first. */
export function recentDirectories(items: readonly SessionItem[]): string[] {
  const newest = [...items].sort((a, b) => a.last_event_at < b.last_event_at ? 1 : -1);
  return [...new Set(newest.map(({ workdir }) => workdir))];
}

/** The last name in a path. */
export function nameOf(path: string): string {
  return endOf(path, 1) || path;
}

/** What each of some paths is called: by its last name, or by as many as tell it from the others. */
export function namesOf(paths: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const call = (those: readonly string[], length: number) => {
    for (const [end, same] of Map.groupBy(those, (it) => endOf(it, length))) {
      for (const path of same) names.set(path, end || path);
      // One whose whole path is the end of others keeps it.
      if (same.length > 1) call(same.filter((it) => endOf(it, length + 1) !== end), length + 1);
    }
  };
  call([...new Set(paths)], 1);
  return names;
}

/** The last names in a path. */
function endOf(path: string, length: number): string {
  return path.split(path.startsWith("/") ? "/" : /[/\\]/).filter(Boolean).slice(-length).join("/");
}
