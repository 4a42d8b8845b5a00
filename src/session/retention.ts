/** How much of a journal is kept (contract.md section 6); `checkpoint.ts` rewrites what is past it. */

export interface Retention {
  /** Events older than this many milliseconds go into the checkpoint. */
  age_ms: number;
  /** A journal larger than this is cut to about half of it. */
  bytes: number;
}

/** Whether a journal is past its limits; cheap enough to ask often. */
export function isPast(
  { oldest_at, size }: { oldest_at?: string; size: number },
  { age_ms, bytes }: Retention,
): boolean {
  return oldest_at !== undefined &&
    (size > bytes || Date.parse(oldest_at) < Date.now() - age_ms);
}
