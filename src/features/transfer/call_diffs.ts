/** What the calls of a conversation changed in files, for its export. */
import type { SessionEvent } from "../../protocol/events.ts";
import type { Journal } from "../../session/journal.ts";
import { callChanges } from "../../session/call_diffs.ts";
import { type DiffRow, type FileDiff, fileDiffs } from "../../session/diff_rows.ts";
import type { Result, Step } from "../../session/transcript_items.ts";
import { visible } from "../../base/visible.ts";

/** Unchanged lines around a change. */
const CONTEXT = 3;
/** Rows of one file in one call, and characters of one row. */
const ROWS_MAX = 300;
const ROW_MAX = 2_000;
/** The daemon waits for it. */
const SEARCH_MS = 50;
const REST = "the rest of the changes is not shown";

/** Reads the journal once, beside a conversation whose results are asked for in their order. */
export class CallDiffs implements AsyncDisposable {
  readonly #journal: Pick<Journal, "read">;
  #events: AsyncGenerator<SessionEvent> | undefined;
  #event: SessionEvent | undefined;

  constructor(journal: Pick<Journal, "read">) {
    this.#journal = journal;
  }

  /** Returns the files that a call of a step changed; none if it failed. */
  async of({ calls }: Step, { seq, call_id, tool, ok, output }: Result): Promise<FileDiff[]> {
    if (!ok) return [];
    const args = calls.find((it) => it.call_id === call_id)?.args;
    const changes = seq === undefined ? undefined : await this.#recorded(seq);
    const outcome = { ok, output, truncated: false, ...changes && { changes } };
    const found = callChanges({ tool, args, outcome });
    if (found.changes.length === 0) return [];
    // Others of the daemon get their turn between two searches.
    await new Promise((resolve) => setTimeout(resolve));
    return fileDiffs(found.changes, {
      shown: visible,
      context: CONTEXT,
      in_turn: !found.recorded,
      rest: REST,
      search_ms: SEARCH_MS,
    }).map((diff) => ({ ...diff, rows: bounded(diff.rows) }));
  }

  async #recorded(seq: number) {
    this.#events ??= this.#journal.read(seq - 1);
    while (this.#event === undefined || this.#event.seq < seq) {
      const { value, done } = await this.#events.next();
      if (done) return undefined;
      this.#event = value;
    }
    const { seq: at, type, data } = this.#event;
    return at === seq && type === "session.tool_completed" ? data.changes : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#events?.return(undefined);
  }
}

function bounded(rows: readonly DiffRow[]): DiffRow[] {
  const kept = rows.slice(0, ROWS_MAX).map((row) =>
    row.text.length > ROW_MAX
      ? { ...row, text: `${row.text.slice(0, ROW_MAX).toWellFormed()}…` }
      : row
  );
  return rows.length > ROWS_MAX ? [...kept, { mark: "⋮", text: REST }] : kept;
}
