/**
 * Keeps what was found for a short time, where finding it again for each call would cost more than a
 * slightly old answer does.
 *
 * @param ms how long it is kept
 * @param find finds it anew; when it throws, nothing is kept
 */
export function recent<T>(ms: number, find: () => T): () => T {
  let kept: { at: number; found: T } | undefined;
  return () => {
    const now = performance.now();
    if (kept === undefined || now - kept.at > ms) kept = { at: now, found: find() };
    return kept.found;
  };
}
