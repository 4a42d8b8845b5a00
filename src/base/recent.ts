/**
 * Caches a result for a short time.
 *
 * @param ms how long
 * @param find computes it; errors are not cached
 */
export function recent<T>(ms: number, find: () => T): () => T {
  let kept: { at: number; found: T } | undefined;
  return () => {
    const now = performance.now();
    if (kept === undefined || now - kept.at > ms) kept = { at: now, found: find() };
    return kept.found;
  };
}
