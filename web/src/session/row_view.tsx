import { useMemo } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { useApp } from "../app.ts";
import { explain } from "../rpc/api.ts";
import { Boundary } from "../ui/boundary.tsx";
import { CodeBlock } from "../ui/code_block.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { duration } from "../format.ts";
import type { Block } from "./blocks.ts";
import type { NoteItem, TextItem, ThoughtItem, UserItem } from "../../../src/session/view.ts";
import { noteText, questionText } from "./item_text.ts";
import { Pictures } from "./pictures.tsx";
import { MessageActions, UndoRewind } from "./rewind.tsx";
import { Reads } from "./reads_view.tsx";
import { RetryButton } from "./retry.tsx";
import { pieces } from "./pieces.ts";
import type { Row } from "./rows.ts";
import type { SessionStore } from "./store.ts";
import { Json, ToolCard } from "./tool_card.tsx";

/** Characters of a thought that are laid out together. */
const PIECE_MAX = 2_000;

interface RowProps {
  row: Row;
  /** Of the row's item: what has not changed is not drawn again. */
  revision: number;
  store: SessionStore;
  /** Whether it is the last one. */
  newest: boolean;
}

/** One row of the transcript; it is drawn again when what it shows has changed. */
export function RowView({ row, revision, store, newest }: RowProps) {
  const shown = row.kind === "block"
    ? [row.block, row.first, row.last]
    // The items of a run are in a new list each time.
    : [row.kind === "reads" ? row.key : row, revision, newest];
  return useMemo(() => (
    <Boundary instead={(error) => <Undrawn row={row} error={error} />}>
      <RowBody row={row} revision={revision} store={store} newest={newest} />
    </Boundary>
  ), shown);
}

/** In place of a row that cannot be drawn: what it is made of. */
function Undrawn({ row, error }: { row: Row; error: unknown }) {
  return (
    <div class="tool errored">
      <p class="tool-none">This entry cannot be shown: {explain(error)}</p>
      <Json args={row.kind === "block" ? row.block : row.kind === "reads" ? row.items : row.item} />
    </div>
  );
}

function RowBody({ row, revision, store, newest }: RowProps) {
  if (row.kind === "block") {
    return (
      <div class={row.first ? "said first" : "said"} data-role="assistant">
        <BlockView block={row.block} />
        {row.last && <CopyText item={row.item} />}
      </div>
    );
  }
  if (row.kind === "reads") return <Reads row={row} revision={revision} store={store} />;
  const { item } = row;
  switch (item.kind) {
    case "user":
      return (
        <div class="asked-row">
          <div
            class={item.waits ? "asked waits" : "asked"}
            title={item.waits ? waitsFor(item) : undefined}
            data-role="user"
          >
            <span class="visually-hidden">You:</span>
            {item.waits && (
              <span class="asked-waits">{item.delivery === "steer" ? "Steers" : "Queued"}</span>
            )}
            <p dir="auto">{item.text}</p>
            <Pictures attachments={item.attachments} store={store} />
          </div>
          <MessageActions item={item} store={store} />
        </div>
      );
    case "thought":
      return <Thought item={item} revision={revision} store={store} />;
    case "tool":
      return <ToolCard item={item} revision={revision} store={store} />;
    case "question":
      return <p class="note plain" data-role="note" dir="auto">{questionText(item)}</p>;
    case "note":
      return (
        <p class={`note ${item.tone}`} data-role="note" dir="auto">
          {noteText(item)}
          {item.may_continue && <ContinueButton item={item} store={store} />}
          {newest && item.end?.stop_reason === "error" && <RetryButton store={store} />}
          {item.rewind_id && <UndoRewind item={item} store={store} />}
        </p>
      );
  }
}

function waitsFor({ delivery }: UserItem): string {
  return delivery === "steer"
    ? "The model reads it at its next step"
    : "The model reads it in the next turn";
}

/** Copies an answer as it was written, in Markdown. */
function CopyText({ item }: { item: TextItem }) {
  const app = useApp();
  return (
    <div class="said-actions">
      <Button
        tone="quiet"
        icon="copy"
        label="Copy this text"
        onClick={() => app.copy(item.text.trim())}
      />
    </div>
  );
}

interface ThoughtProps {
  item: ThoughtItem;
  /** Of the item: it changes in place. */
  revision: number;
  store: SessionStore;
}

/** Minutes of thinking are a long text: only its last piece is laid out anew when it grows. */
function Thought({ item, store }: ThoughtProps) {
  const open = store.isOpen(item.key) ?? false;
  return (
    <details
      class="thought"
      open={open}
      onToggle={({ currentTarget }) => store.toggle(item.key, currentTarget.open)}
    >
      <summary>{thoughtText(item)}</summary>
      {open && pieces(item.text, PIECE_MAX).map((piece, n) => <p key={n} dir="auto">{piece}</p>)}
    </details>
  );
}

function thoughtText({ at, until }: ThoughtItem): string {
  return until === undefined
    ? "Thinking …"
    : `Thought for ${duration(+new Date(until) - +new Date(at))}`;
}

/** Has a turn go on that was cut off or is parked. */
function ContinueButton({ item, store }: { item: NoteItem; store: SessionStore }) {
  const { client } = useApp();
  const proceed = () => client.call("session.continue", { session_id: store.id });
  return (
    <Button tone="quiet" icon="play" onClick={proceed}>
      {item.parked_until === undefined ? "Continue" : "Continue now"}
    </Button>
  );
}

function BlockView({ block }: { block: Block }) {
  return block.kind === "code"
    ? <CodeBlock {...block} />
    : <Markdown text={block.raw} links={block.links} />;
}
