import { useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { fullTime } from "../format.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Pending } from "../ui/states.tsx";
import { CATEGORIES, type Category } from "./entry.ts";
import { sourceText } from "./entry_item.tsx";

interface AuditPage extends Result<"cortex.audit"> {
  /** Where the pages are that were turned to; without one it is the newest. */
  cursors: readonly string[];
}

const PAGE = 20;
/** Edits are told by no event. */
const EVERY_MS = 3_000;

/** What was written by itself or edited, page by page, the newest first. */
export function AuditTrail() {
  const { client } = useApp();
  const wanted = useRef<AuditPage["cursors"]>([]);
  const live = useLive<AuditPage>({
    async ask() {
      const cursors = wanted.current;
      const page = await client.ask("cortex.audit", { limit: PAGE, cursor: cursors.at(-1) });
      return { ...page, cursors };
    },
    types: ["memory."],
    every_ms: EVERY_MS,
  });
  const turn = (to: AuditPage["cursors"]) => {
    wanted.current = to;
    return live.refresh();
  };
  const page = live.value.value;
  const { records = [], next_cursor, cursors = [] } = page ?? {};
  return (
    <section class="panel" aria-labelledby="audit-heading">
      <h2 id="audit-heading">Audit trail</h2>
      {page === undefined
        ? <Pending of={live} lines={2} label="Loading the audit trail" />
        : records.length === 0
        ? <p class="hint">No automatic writes or edits yet.</p>
        : (
          <div class="audit-box" tabIndex={0} role="group" aria-label="Records">
            <table class="data-table">
              <caption class="visually-hidden">
                Automatic writes and edits, the newest first
              </caption>
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">What</th>
                  <th scope="col">Category</th>
                  <th scope="col">Message</th>
                  <th scope="col">Entry</th>
                  <th scope="col">SHA-256 of the content</th>
                </tr>
              </thead>
              <tbody>
                {records.toReversed().map((record) => {
                  const { ts, entry_id, category, source_msg_id, content_sha } = record;
                  return (
                    <tr key={`${ts}${entry_id}`}>
                      <td>{fullTime(ts)}</td>
                      <td>{sourceText(source_msg_id)}</td>
                      <td>{CATEGORIES[category as Category]}</td>
                      <td class="mono clip" title={source_msg_id}>
                        {source_msg_id.startsWith("msg") ? source_msg_id : ""}
                      </td>
                      <td class="mono clip" title={entry_id}>{entry_id}</td>
                      <td class="mono clip" title={content_sha}>{content_sha.slice(0, 12)}…</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        )}
      {(cursors.length > 0 || next_cursor !== undefined) && (
        <div class="more">
          <Button
            disabled={cursors.length === 0}
            onClick={() => turn(cursors.slice(0, -1))}
          >
            Newer
          </Button>
          <Button
            disabled={next_cursor === undefined}
            onClick={() => turn([...cursors, next_cursor!])}
          >
            Older
          </Button>
        </div>
      )}
    </section>
  );
}
