/** What is remembered across turns and sessions, in `state.db` (contract.md section 4, memory). */
import type { DatabaseSync } from "node:sqlite";

/** For whom an entry holds. */
export const SCOPES = ["Session", "Worker", "AllSessions", "Global", "Always"] as const;
export type Scope = typeof SCOPES[number];

export interface MemoryEntry {
  key: string;
  value: string;
  updated_at: string;
}

/**
 * Finds entries of a scope, by key.
 *
 * @param key_prefix only keys that begin with it.
 * @returns at most `limit` entries; `truncated` when there are more.
 */
export function queryMemory(
  db: DatabaseSync,
  { scope, key_prefix = "", limit }: { scope: Scope; key_prefix?: string; limit: number },
): { entries: MemoryEntry[]; truncated: boolean } {
  const rows = db.prepare(
    `SELECT key, value, updated_at FROM memory
     WHERE scope = ? AND substr(key, 1, length(?)) = ? ORDER BY key LIMIT ?`,
  ).all(scope, key_prefix, key_prefix, limit + 1) as unknown as MemoryEntry[];
  return {
    entries: rows.slice(0, limit).map((row) => ({ ...row })),
    truncated: rows.length > limit,
  };
}
