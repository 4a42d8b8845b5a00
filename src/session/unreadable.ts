/** Sessions whose journals cannot be read: kept, listed, their files untouched. */
import { messageOf, SvcError, withHint } from "../platform/errors.ts";
import { type SessionItem, toItem } from "./session_item.ts";
import type { SessionState } from "./state.ts";

export interface Unreadable {
  item: SessionItem & { state: "unreadable"; reason: string };
  journal_path: string;
}

/**
 * What is kept of a session that cannot be read.
 *
 * @param state what is known of it.
 * @param error why it cannot be read.
 */
export function unreadable(state: SessionState, journal_path: string, error: unknown): Unreadable {
  const reason = error instanceof Deno.errors.NotFound
    ? `its journal is not at ${journal_path}`
    : error instanceof SvcError
    ? withHint(error)
    : messageOf(error);
  return { journal_path, item: { ...toItem(state), state: "unreadable", reason } };
}

/** What one is told who asks for such a session: `schema_version` or `internal`. */
export function unreadableError({ item: { id, reason }, journal_path }: Unreadable): SvcError {
  return new SvcError(
    reason.includes("schema version") ? "schema_version" : "internal",
    `session ${id} is unreadable: ${reason}`,
    {
      hint: `its journal is kept as it is: ${journal_path}; ` +
        "session.kill takes the session out of the list",
    },
  );
}
