import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Token } from "../../../src/base/highlight/tokens.ts";
import { useApp } from "../app.ts";
import { Coloured } from "../highlight/code.tsx";
import { pageHighlighter } from "../highlight/highlighter.ts";
import { isSend } from "../session/send_key.tsx";
import { Button } from "../ui/button.tsx";
import { keyOf } from "../ui/keys.ts";
import { Icon } from "../ui/icon.tsx";
import { useId } from "../ui/use_id.ts";
import { useVirtualizer } from "../ui/use_virtualizer.ts";
import {
  type Comments,
  type LineComment,
  type LineRange,
  linesText,
  rangeText,
} from "./comments.ts";
import { editor, EDITORS } from "./editors.ts";
import { type Line, type LineRow, MORE_LINES } from "./lines.ts";
import type { FileModel } from "./model.ts";
import { isChosen, quoteOf, rangeOf, type Row, RowMaker, type Writing } from "./rows.ts";
import { changedWords, type Part } from "../../../src/base/edits/words.ts";

/** Characters of a line that are drawn. */
const LINE_CHARS = 2_000;
const LINE_PX = 20;
const OVERSCAN = 20;

const HEIGHTS: Record<Row["kind"], number> = {
  file: 44,
  note: 48,
  lines: LINE_PX,
  comment: 88,
  editor: 160,
};

interface ChangeListProps {
  files: readonly FileModel[];
  split: boolean;
  comments: Comments;
  /** The chosen lines. */
  writing: Signal<Writing | undefined>;
  /** The absolute path of the directory. */
  workdir: string;
  /** A file to go to. */
  goto: Signal<string | undefined>;
  onUndo?(file: FileModel): void;
}

/** The changed files with their lines; only what is near to be seen is drawn. */
export function ChangeList(props: ChangeListProps) {
  const { files, split, comments, writing, workdir, goto, onUndo } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const active = useSignal<string | undefined>(undefined);
  const all_comments = comments.all.value;
  const chosen = writing.value;
  const maker = useMemo(() => new RowMaker(), []);
  const rows = maker.rows(files, { split, comments: all_comments, writing: chosen });
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (n) => HEIGHTS[rows[n].kind],
    getItemKey: (n) => rows[n]?.key ?? n,
    overscan: OVERSCAN,
  });
  useKeptPlace(scroller, rows, virtualizer);
  const at = rows.findIndex(({ key }) => key === active.value);
  const activate = (n: number, center = false) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, n))];
    if (row === undefined) return;
    active.value = row.key;
    virtualizer.scrollToIndex(rows.indexOf(row), { align: center ? "start" : "auto" });
  };
  useEffect(() => {
    if (goto.value === undefined) return;
    activate(rows.findIndex(({ kind, file }) => kind === "file" && file.path === goto.value), true);
    goto.value = undefined;
  }, [goto.value]);

  /** Has other lines chosen; what is being written about the ones before is kept. */
  const turn = (to?: Writing) => {
    const before = writing.peek();
    if (before?.open) comments.keepDraft(rangeText(before), before);
    writing.value = to;
  };
  const choose = (row: Row, side: "old" | "new" | undefined, extend: boolean) => {
    const range = rangeOf(row, side);
    if (range === undefined) return;
    const before = writing.peek();
    const joined = extend && before?.path === range.path && before.side === range.side
      ? { ...range, from: Math.min(before.from, range.from), to: Math.max(before.to, range.to) }
      : range;
    turn({ ...joined, quote: quoteOf(row.file, joined), open: false });
    active.value = row.key;
  };
  const write = (row: Row, side?: "old" | "new") => {
    const before = writing.peek();
    const range = rangeOf(row, side);
    if (range === undefined) return;
    const within = before !== undefined && before.path === range.path &&
      before.side === range.side && before.from <= range.from && range.to <= before.to;
    if (!within) choose(row, side, false);
    writing.value = { ...writing.peek()!, open: true };
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[at];
    const key = keyOf(event);
    const page = Math.max(1, Math.floor((virtualizer.scrollRect?.height ?? 400) / LINE_PX) - 2);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[key];
    if (step !== undefined) {
      const next = at < 0 ? 0 : at + step;
      if (event.shiftKey && row !== undefined && Math.abs(step) === 1) {
        if (writing.peek() === undefined) choose(row, undefined, false);
        const other = rows[next];
        if (other !== undefined) choose(other, writing.peek()?.side, true);
      } else if (writing.peek()?.open === false) writing.value = undefined;
      activate(next);
    } else if (key === "Home") activate(0);
    else if (key === "End") activate(rows.length - 1);
    else if (key === "n" || key === "p") {
      const heads = rows.flatMap(({ kind }, n) => kind === "file" ? [n] : []);
      const to = key === "n" ? heads.find((n) => n > at) : heads.findLast((n) => n < at);
      if (to !== undefined) activate(to, true);
    } else if (row === undefined) return;
    else if (row.kind === "file" && ["ArrowLeft", "ArrowRight", "Enter", " "].includes(key)) {
      const open = row.file.is_open;
      row.file.toggle(key === "ArrowRight" || key !== "ArrowLeft" && !open);
    } else if (row.kind === "lines" && row.lines.fold && ["Enter", " "].includes(key)) {
      row.file.expand(row.lines.fold, "more");
    } else if (row.kind === "lines" && ["Enter", "c"].includes(key)) {
      write(row, writing.peek()?.side);
    } else if (key === "Escape" && writing.peek() !== undefined) {
      turn();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };

  const shown = virtualizer.getVirtualItems();
  const height = virtualizer.getTotalSize();
  return (
    <div
      ref={scroller}
      class={split ? "change-list split" : "change-list"}
      role="grid"
      aria-label="Changed files"
      aria-rowcount={rows.length}
      aria-activedescendant={shown.some(({ index }) => index === at)
        ? `change-row-${at}`
        : undefined}
      aria-multiselectable
      tabIndex={0}
      onKeyDown={onKeyDown}
      onClick={({ target }) => {
        const pressed = (target as Element).closest('button[tabindex="-1"]');
        const index = pressed?.closest<HTMLElement>("[data-index]")?.dataset.index;
        if (index === undefined) return;
        // The row may go out of sight, and the focus with it.
        active.value = rows[Number(index)]?.key;
        scroller.current!.focus({ preventScroll: true });
      }}
      onFocus={({ target }) => {
        if (target === scroller.current && active.peek() === undefined) {
          active.value =
            rows[shown.find(({ start }) => start >= scroller.current!.scrollTop)?.index ?? 0]?.key;
        }
      }}
    >
      <div class="change-all" role="presentation" style={{ height: `${height}px` }}>
        <div
          class="change-shown"
          role="presentation"
          style={{ transform: `translateY(${shown[0]?.start ?? 0}px)` }}
        >
          {shown.map(({ index, key }) => {
            const row = rows[index];
            return (
              <div
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                id={`change-row-${index}`}
                role="row"
                aria-rowindex={index + 1}
                aria-selected={row.kind === "lines" && isChosen(row, chosen)}
                class={classOf(row, chosen, at === index)}
              >
                {row.kind === "file"
                  ? (
                    <FileHead
                      file={row.file}
                      workdir={workdir}
                      onUndo={onUndo && (() => onUndo(row.file))}
                    />
                  )
                  : row.kind === "note"
                  ? (
                    <div role="gridcell" class="change-note">
                      {row.text}
                      {row.failed && <Button onClick={() => row.file.load()}>Try again</Button>}
                    </div>
                  )
                  : row.kind === "comment"
                  ? <Comment comments={comments} comment={row.comment} moved={row.moved} />
                  : row.kind === "editor"
                  ? (
                    <CommentEditor
                      key={rangeText(chosen!)}
                      about={chosen!}
                      comments={comments}
                      is_listed
                      onClose={() => {
                        writing.value = undefined;
                        scroller.current!.focus({ preventScroll: true });
                      }}
                    />
                  )
                  : row.lines.fold
                  ? <Fold file={row.file} fold={row.lines.fold} />
                  : (
                    <LineCells
                      row={row.lines}
                      file={row.file}
                      split={split}
                      onChoose={(side, event) => {
                        scroller.current!.focus({ preventScroll: true });
                        if (event.shiftKey) choose(row, side, true);
                        else write(row, side);
                      }}
                      onPoint={(side) => choose(row, side, false)}
                    />
                  )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

type List = ReturnType<typeof useVirtualizer>;

/** Keeps what is read in its place when lines above it come or go. */
function useKeptPlace(
  scroller: RefObject<HTMLDivElement>,
  rows: readonly Row[],
  virtualizer: List,
): void {
  const before = useRef<{ rows: readonly Row[]; starts: Map<string, number> }>();
  useLayoutEffect(() => {
    const box = scroller.current!;
    const last = before.current;
    if (last !== undefined && last.rows !== rows && box.scrollTop > 0) {
      const now = new Map(rows.map(({ key }, n) => [key, n]));
      // The first that is seen and still there.
      const kept = [...last.starts].find(([key, start]) => start >= box.scrollTop && now.has(key));
      const start = kept && virtualizer.measurementsCache[now.get(kept[0])!]?.start;
      if (start !== undefined) box.scrollTop += start - kept![1];
    }
    const starts = virtualizer.getVirtualItems().map(({ key, start }) =>
      [String(key), start] as const
    );
    before.current = { rows, starts: new Map(starts) };
  });
}

function classOf(row: Row, writing: Writing | undefined, is_active: boolean): string {
  const kind = row.kind === "lines" ? row.lines.fold ? "fold" : "line" : row.kind;
  const words = [`change-${kind}`];
  if (is_active) words.push("active");
  if (isChosen(row, writing)) words.push("chosen");
  if (row.kind === "comment" && row.moved) words.push("moved");
  return words.join(" ");
}

const WORDS: Record<string, string> = {
  added: "new",
  deleted: "deleted",
  mode: "permissions changed",
  changed: "changed",
};

interface FileHeadProps {
  file: FileModel;
  workdir: string;
  onUndo?(): void;
}

function FileHead({ file, workdir, onUndo }: FileHeadProps) {
  const { path, change, renamed_from } = file.entry.value;
  const open = file.is_open;
  const { name, link } = EDITORS[editor.value];
  const line = Math.max(1, file.text?.hunks[0]?.new_line ?? 1);
  useEffect(() => {
    if (open) file.load();
  }, [open, file.entry.value]);
  const cut = path.lastIndexOf("/") + 1;
  return (
    <div role="gridcell" class="change-head">
      <button
        type="button"
        class="change-toggle"
        tabIndex={-1}
        aria-expanded={open}
        onClick={() => file.toggle(!open)}
      >
        <Icon name="chevron" />
        <span class="change-path" title={path}>
          <span class="change-dir">{path.slice(0, cut)}</span>
          <span class="change-name">{path.slice(cut)}</span>
        </span>
        {renamed_from !== undefined
          ? (
            <span class="change-word clip" title={`from ${renamed_from}`}>
              {`from ${renamed_from}`}
            </span>
          )
          : change !== "changed" && <span class={`change-word ${change}`}>{WORDS[change]}</span>}
        <Counts of={file.entry.value} />
      </button>
      {change !== "deleted" && (
        <a
          class="button quiet bare"
          href={link(`${workdir}/${path}`, line)}
          aria-label={`Open ${path} in ${name}`}
          title={`Open in ${name}`}
        >
          <Icon name="edit" />
        </a>
      )}
      {onUndo && (
        <Button tone="quiet" icon="undo" label={`Undo the change of ${path}`} onClick={onUndo} />
      )}
    </div>
  );
}

/** Added and removed lines. */
export function Counts({ of: { added, deleted } }: { of: { added?: number; deleted?: number } }) {
  if (added === undefined) return null;
  return (
    <span class="change-counts">
      <span class="change-added" aria-hidden="true">{`+${added}`}</span>
      <span class="change-deleted" aria-hidden="true">{`−${deleted ?? 0}`}</span>
      <span class="visually-hidden">{`${added} lines added, ${deleted ?? 0} removed`}</span>
    </span>
  );
}

function Fold({ file, fold }: { file: FileModel; fold: readonly [number, number] }) {
  const count = fold[1] - fold[0];
  return (
    <div role="gridcell" class="change-fold-cell">
      {count > MORE_LINES && (
        <Button
          tone="quiet"
          tabIndex={-1}
          onClick={() => file.expand(fold, "more")}
        >
          {`Show ${MORE_LINES} more lines`}
        </Button>
      )}
      <Button tone="quiet" tabIndex={-1} onClick={() => file.expand(fold, "all")}>
        {`Show ${count > MORE_LINES ? `all ${count}` : count} unchanged lines`}
      </Button>
    </div>
  );
}

interface LineCellsProps {
  row: LineRow;
  file: FileModel;
  split: boolean;
  /** A line's number was pressed. */
  onChoose(side: "old" | "new", event: MouseEvent): void;
  /** A line was pressed. */
  onPoint(side: "old" | "new"): void;
}

function LineCells({ row: { left, right }, file, split, onChoose, onPoint }: LineCellsProps) {
  const number = (line: Line | undefined, side: "old" | "new") => (
    <div
      role="gridcell"
      class={`change-number ${line?.kind ?? "none"}`}
      onClick={line && ((event) => onChoose(side, event))}
    >
      {line?.[side === "old" ? "old" : "now"]}
    </div>
  );
  const code = (line: Line | undefined, side: "old" | "new") => (
    <div
      role="gridcell"
      class={`change-code ${line?.kind ?? "none"}`}
      onClick={line && (() => getSelection()?.isCollapsed && onPoint(side))}
    >
      {line && <LineText line={line} file={file} />}
    </div>
  );
  if (split) {
    return (
      <>
        {number(left, "old")}
        {code(left, "old")}
        {number(right, "new")}
        {code(right, "new")}
      </>
    );
  }
  return (
    <>
      {number(left, "old")}
      {number(right, "new")}
      {right === undefined ? code(left, "old") : code(right, "new")}
    </>
  );
}

const SIGNS: Record<Line["kind"], string> = { insert: "+", delete: "−", same: " " };
const SAID: Partial<Record<Line["kind"], string>> = { insert: "added: ", delete: "removed: " };

function LineText({ line, file }: { line: Line; file: FileModel }) {
  const app = useApp();
  const highlighter = app.highlighter ??= pageHighlighter(app.client);
  const tokens = file.colours(line, highlighter);
  const words = useMemo(() => wordsOf(line), [line]);
  const { text, kind, unended } = line;
  const long = text.length > LINE_CHARS;
  return (
    <>
      <span class="change-sign" aria-hidden="true">{SIGNS[kind]}</span>
      {SAID[kind] && <span class="visually-hidden">{SAID[kind]}</span>}
      <code>
        {long
          ? text.slice(0, LINE_CHARS)
          : words !== undefined
          ? <Marked parts={words} tokens={tokens} />
          : tokens
          ? <Coloured tokens={tokens} />
          : text === ""
          ? " "
          : text}
      </code>
      {long && <span class="change-aside">{`${text.length - LINE_CHARS} more characters`}</span>}
      {unended && <span class="change-aside">No newline at the end</span>}
    </>
  );
}

function wordsOf(line: Line): Part[] | undefined {
  if (line.other === undefined) return undefined;
  const is_before = line.kind === "delete";
  const found = is_before
    ? changedWords(line.text, line.other.text)
    : changedWords(line.other.text, line.text);
  return is_before ? found?.before : found?.after;
}

/** Marks the changed words of a line, in their colours. */
function Marked({ parts, tokens }: { parts: readonly Part[]; tokens?: readonly Token[] }) {
  const left = (tokens ?? parts.map(({ text }): Token => ({ text }))).map((it) => ({ ...it }));
  return (
    <>
      {parts.map(({ text, changed }, n) => {
        const inside: Token[] = [];
        for (let room = text.length; room > 0 && left.length > 0;) {
          const token = left[0];
          inside.push({ ...token, text: token.text.slice(0, room) });
          room -= inside.at(-1)!.text.length;
          token.text = token.text.slice(inside.at(-1)!.text.length);
          if (token.text === "") left.shift();
        }
        return changed
          ? (
            <mark key={n}>
              <Coloured tokens={inside} />
            </mark>
          )
          : <Coloured key={n} tokens={inside} />;
      })}
    </>
  );
}

interface CommentProps {
  comments: Comments;
  comment: LineComment;
  /** Whether its lines have changed; undefined for a file that is not listed. */
  moved?: boolean;
}

/** A comment, where it can be changed and deleted. */
export function Comment({ comments, comment, moved }: CommentProps) {
  const editing = useSignal(comments.drafts.has(comment.id));
  const is_listed = moved !== undefined;
  if (editing.value) {
    return (
      <CommentEditor
        about={comment}
        comments={comments}
        is_listed={is_listed}
        onClose={() => editing.value = false}
      />
    );
  }
  return (
    <div role={is_listed ? "gridcell" : undefined} class="change-comment-cell">
      <div class="change-comment">
        <p class="change-about">
          {aboutText(comment, is_listed)}
          {moved && ", which has changed since"}
        </p>
        <p class="change-said" dir="auto">{comment.text}</p>
      </div>
      <Button
        tone="quiet"
        label="Change the comment"
        icon="edit"
        onClick={() => editing.value = true}
      />
      <Button
        tone="quiet"
        label="Delete the comment"
        icon="trash"
        onClick={() => comments.remove([comment.id])}
      />
    </div>
  );
}

interface CommentEditorProps {
  /** A comment, or the lines of a new one. */
  about: Omit<LineComment, "id" | "text"> & Partial<LineComment>;
  comments: Comments;
  is_listed: boolean;
  onClose(): void;
}

function aboutText(range: LineRange, is_listed: boolean): string {
  return `Comment on ${is_listed ? linesText(range) : rangeText(range)}`;
}

function CommentEditor({ about, comments, is_listed, onClose }: CommentEditorProps) {
  const { drafts } = comments;
  const { text = "", id: name = rangeText(about) } = about;
  const id = useId();
  const value = useSignal(drafts.get(name) ?? text);
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => box.current!.focus({ preventScroll: true }), []);
  useEffect(() => () => {
    const is_gone = !comments.all.peek().some(({ id }) => id === name);
    // Another tab has deleted or sent it: what was written here becomes a comment of its own.
    if (about.id !== undefined && is_gone) comments.keepDraft(name, about);
  }, []);
  const save = () => {
    if (value.value.trim() === "") return;
    comments.keepDraft(name, about.id === undefined ? about : undefined);
    onClose();
  };
  const cancel = () => {
    drafts.delete(name);
    onClose();
  };
  return (
    <div role={is_listed ? "gridcell" : undefined} class="change-editor-cell">
      <label for={id} class="change-about">{aboutText(about, is_listed)}</label>
      <textarea
        ref={box}
        id={id}
        dir="auto"
        rows={3}
        value={value}
        onInput={({ currentTarget }) => {
          value.value = currentTarget.value;
          drafts.set(name, value.value);
        }}
        onKeyDown={(event) => {
          if (isSend(event, false)) save();
          // What was written is not lost by a key.
          else if (event.key === "Escape") value.value.trim() === "" ? cancel() : save();
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <div class="change-editor-foot">
        <Button onClick={cancel}>Cancel</Button>
        <Button tone="primary" disabled={value.value.trim() === ""} onClick={save}>
          Keep comment
        </Button>
      </div>
    </div>
  );
}
