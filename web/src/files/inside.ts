/** Where a text in a directory leads within it. */

/** As long as a path that the daemon takes. */
const PATH_MAX = 4_096;

/**
 * Returns the path of a file that an address in a text leads to; undefined for one that leads out of
 * the directory, to a directory, or to a place in the text.
 *
 * @param from the path of the text
 */
export function insideOf(from: string, href: string): string | undefined {
  if (/^([a-z][a-z\d+.-]*:|[/\\#?])/i.test(href)) return undefined;
  let path: string;
  try {
    path = decodeURIComponent(href.replace(/[?#].*$/s, ""));
  } catch {
    return undefined;
  }
  const parts = from.split("/").slice(0, -1);
  for (const part of path.split("/")) {
    if (part === ".." && parts.pop() === undefined) return undefined;
    if (!["", ".", ".."].includes(part)) parts.push(part);
  }
  const to = parts.join("/");
  return to.length > PATH_MAX || /(^|\/)\.{0,2}$|[\\\p{Cc}]/u.test(path) ? undefined : to;
}
