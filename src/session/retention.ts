/** Limits of a journal (contract.md section 6); `checkpoint.ts` enforces them. */

export interface Retention {
  /** Older events go into the checkpoint. */
  age_ms: number;
  /** A larger journal is cut to about half of this. */
  bytes: number;
}

/** Whether a journal is past its limits; cheap. */
export function isPast(
  { oldest_at, size }: { oldest_at?: string; size: number },
  { age_ms, bytes }: Retention,
): boolean {
  return oldest_at !== undefined &&
    (size > bytes || Date.parse(oldest_at) < Date.now() - age_ms);
}
