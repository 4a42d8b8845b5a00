import "../main.tsx";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { languageOfPath } from "../../../src/base/highlight/languages.ts";
import { linesOf } from "../../../src/base/highlight/tokens.ts";
import { useApp } from "../app.ts";
import { editor, EDITORS } from "../changes/editors.ts";
import { Coloured, useTokens } from "../highlight/code.tsx";
import { explain, type Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import type { SessionStore } from "../session/store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { type Inside, Markdown } from "../ui/markdown.tsx";
import { SearchBox } from "../ui/search_box.tsx";
import { Failed, Loading } from "../ui/states.tsx";
import { NARROW, useMedia } from "../ui/use_media.ts";
import { useVirtualizer } from "../ui/use_virtualizer.ts";
import { insideOf } from "./inside.ts";
import { Tree, type TreeRow } from "./tree.ts";

type Preview = Result<"files.read">;

interface FilesPanelProps {
  store: SessionStore;
  /** Whether the panel takes the place of the conversation too. */
  whole: Signal<boolean>;
  onClose(): void;
}

/** The files of a session's directory. */
export default function FilesPanel({ store, whole, onClose }: FilesPanelProps) {
  const { client, opening } = useApp();
  const [tree] = useState(() => new Tree(client, store.id));
  const query = useSignal("");
  /** The file that is shown. */
  const shown = useSignal<string | undefined>(undefined);
  useLive({
    async ask() {
      await tree.refresh();
      return undefined;
    },
    types: ["session.tool_completed", "turn.completed", "session.rewound", "background.ended"],
    every_ms: 20_000,
  });
  useEffect(() => {
    const path = opening.value;
    if (path === undefined) return;
    opening.value = undefined;
    query.value = "";
    tree.reveal(path);
    shown.value = path;
  }, [opening.value]);
  const back = () => {
    shown.value = undefined;
  };
  return (
    <section
      class={shown.value === undefined ? "side files" : "side files with-file"}
      aria-labelledby="files-heading"
    >
      <header class="side-head">
        <h2 id="files-heading" tabIndex={-1}>Files</h2>
        <SearchBox label="Find a file by name" value={query} />
        <Button
          class="side-whole"
          tone="quiet"
          aria-pressed={whole.value}
          icon="whole"
          label={whole.value ? "Show the conversation too" : "Use the whole width"}
          onClick={() => whole.value = !whole.value}
        />
        <Button tone="quiet" icon="close" label="Close files" onClick={onClose} />
      </header>
      <div class="files-body">
        <div class="files-names">
          {query.value.trim() === ""
            ? <TreeView tree={tree} shown={shown} />
            : <Found query={query.value.trim()} session_id={store.id} shown={shown} tree={tree} />}
        </div>
        {shown.value !== undefined && (
          <FileView
            key={shown.value}
            path={shown.value}
            store={store}
            onBack={back}
          />
        )}
      </div>
    </section>
  );
}

const ROW_PX = 30;
/** For fingers. */
const LARGE_ROW_PX = 44;

interface TreeViewProps {
  tree: Tree;
  shown: Signal<string | undefined>;
}

/** The tree; only what is near to be seen is drawn. */
function TreeView({ tree, shown }: TreeViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const active = useSignal<string | undefined>(shown.peek());
  const typed = useRef({ text: "", at: 0 });
  const rows = tree.rows();
  const row_px = useMedia(NARROW) ? LARGE_ROW_PX : ROW_PX;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => row_px,
    getItemKey: (n) => rows[n]?.path ?? n,
    overscan: 20,
  });
  /** The file that was shown last, and the one whose row was brought into sight. */
  const last = useRef<string>();
  const seen = useRef<string>();
  last.current = shown.value ?? last.current;
  useEffect(() => {
    // Without room, the file stands in the place of the tree.
    if (last.current === seen.current || !box.current?.clientHeight) return;
    const n = rows.findIndex(({ path }) => path === last.current);
    if (n < 0) return;
    seen.current = active.value = last.current;
    virtualizer.scrollToIndex(n, { align: "auto" });
  });
  if (tree.error !== undefined) {
    return <Failed message={tree.error} onRetry={() => tree.load("")} />;
  }
  const at = rows.findIndex(({ path }) => path === active.value);
  const activate = (n: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, n))];
    if (row === undefined) return;
    active.value = row.path;
    virtualizer.scrollToIndex(rows.indexOf(row), { align: "auto" });
  };
  const press = (row: TreeRow) => {
    active.value = row.path;
    if (row.kind === "directory") tree.toggle(row.path, !row.open);
    else if (row.kind === "file") shown.value = row.path;
  };
  const typeAhead = (key: string) => {
    const { text, at: last } = typed.current;
    const now = performance.now();
    const found = (now - last < 700 ? text : "") + key.toLowerCase();
    typed.current = { text: found, at: now };
    const begin = found.length > 1 ? Math.max(0, at) : at + 1;
    const order = [...rows.keys()].map((n) => (n + begin) % rows.length);
    const to = order.find((n) => rows[n].name.toLowerCase().startsWith(found));
    if (to !== undefined) activate(to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[at];
    const { key } = event;
    if (key === "ArrowDown") activate(at + 1);
    else if (key === "ArrowUp") activate(at < 0 ? 0 : at - 1);
    else if (key === "Home") activate(0);
    else if (key === "End") activate(rows.length - 1);
    else if (key === "ArrowRight" && row?.kind === "directory") {
      if (row.open) activate(at + 1);
      else tree.toggle(row.path, true);
    } else if (key === "ArrowLeft" && row !== undefined) {
      if (row.open) tree.toggle(row.path, false);
      else activate(rows.findLastIndex(({ level }, n) => n < at && level < row.level));
    } else if ((key === "Enter" || key === " ") && row !== undefined) press(row);
    else if (key.length === 1 && key !== " ") typeAhead(key);
    else return;
    event.preventDefault();
  };
  const drawn = virtualizer.getVirtualItems();
  return (
    <div
      ref={box}
      class="tree"
      role="tree"
      aria-label="Files"
      aria-activedescendant={drawn.some(({ index }) => index === at) ? `tree-row-${at}` : undefined}
      aria-busy={!tree.loaded}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onFocus={() => active.value ??= rows[0]?.path}
    >
      <div role="presentation" class="change-all" style={{ height: `${rows.length * row_px}px` }}>
        <div
          role="presentation"
          class="change-shown"
          style={{ transform: `translateY(${drawn[0]?.start ?? 0}px)` }}
        >
          {drawn.map(({ index, key }) => {
            const row = rows[index];
            return (
              <div
                key={key}
                id={`tree-row-${index}`}
                role="treeitem"
                aria-level={row.level}
                aria-posinset={row.position}
                aria-setsize={row.siblings}
                aria-expanded={row.open}
                aria-selected={row.path === shown.value}
                aria-disabled={row.kind === "nowhere" || undefined}
                class={["tree-row", row.kind, index === at && "active"].filter(Boolean).join(" ")}
                style={{
                  blockSize: `${row_px}px`,
                  paddingInlineStart: `${0.5 + (row.level - 1) * 0.875}rem`,
                }}
                onClick={() => press(row)}
              >
                <Icon name={row.kind === "directory" ? "chevron" : "file"} />
                <span class="clip">{row.note ?? row.name}</span>
                {row.is_link && (
                  <span class="tree-aside">
                    {row.kind === "nowhere" ? "link out of the directory" : "link"}
                  </span>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface FoundProps {
  query: string;
  session_id: string;
  shown: Signal<string | undefined>;
  tree: Tree;
}

const SETTLE_MS = 150;
const FOUND_MAX = 200;

/** The files whose path fits the words of a query. */
function Found({ query, session_id, shown, tree }: FoundProps) {
  const { client } = useApp();
  const found = useSignal<Result<"files.find"> | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  useEffect(() => {
    let gone = false;
    const timer = setTimeout(() => {
      client.ask("files.find", { session_id, query, limit: FOUND_MAX }).then((it) => {
        if (gone) return;
        found.value = it;
        error.value = undefined;
      }, (thrown) => gone || (error.value = explain(thrown)));
    }, SETTLE_MS);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [query]);
  if (error.value !== undefined) return <Failed message={error.value} />;
  if (found.value === undefined) return <Loading lines={4} label="Looking for files" />;
  const { complete } = found.value;
  const paths = found.value.paths.filter((it) => !it.endsWith("/"));
  return (
    <ul class="tree found" aria-label="Files found">
      {paths.map((path) => {
        const cut = path.lastIndexOf("/") + 1;
        return (
          <li key={path}>
            <button
              type="button"
              class="tree-row file"
              aria-current={shown.value === path || undefined}
              onClick={() => {
                tree.reveal(path);
                shown.value = path;
              }}
            >
              <Icon name="file" />
              <span class="clip">{path.slice(cut)}</span>
              <span class="tree-aside clip">{path.slice(0, cut)}</span>
            </button>
          </li>
        );
      })}
      {paths.length === 0 && <li class="hint">No file has this name.</li>}
      {!complete && <li class="hint">The directory is too large to search all of it.</li>}
    </ul>
  );
}

interface FileViewProps {
  path: string;
  store: SessionStore;
  onBack(): void;
}

/** One file: a text in its colours, Markdown, an image, or what else it is. */
function FileView({ path, store, onBack }: FileViewProps) {
  const { client } = useApp();
  const as_text = useSignal(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const live = useLive({
    ask: () => client.ask("files.read", { session_id: store.id, path }),
    types: ["session.tool_completed", "session.rewound"],
    every_ms: 20_000,
  });
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const file = live.value.value;
  const is_markdown = /\.(md|markdown)$/i.test(path) && file?.kind === "text";
  const { name, link } = EDITORS[editor.value];
  return (
    <section class="file-view" aria-labelledby="file-heading">
      <header class="file-head">
        <Button
          class="file-back"
          tone="quiet"
          icon="back"
          label="Back to the files"
          onClick={onBack}
        />
        <h3 id="file-heading" ref={heading} tabIndex={-1} class="mono clip" title={path}>{path}</h3>
        {file && <span class="tree-aside">{sizeText(file.bytes)}</span>}
        {is_markdown && (
          <Button
            tone="quiet"
            aria-pressed={as_text.value}
            onClick={() => as_text.value = !as_text.value}
          >
            As text
          </Button>
        )}
        <a
          class="button quiet bare"
          href={link(`${store.state.workdir}/${path}`, 1)}
          aria-label={`Open ${path} in ${name}`}
          title={`Open in ${name}`}
        >
          <Icon name="edit" />
        </a>
      </header>
      {live.error.value !== undefined
        ? <Failed message={live.error.value} onRetry={() => live.refresh()} />
        : file === undefined
        ? <Loading lines={8} label="Loading the file" />
        : (
          <Content
            path={path}
            file={file}
            drawn={is_markdown && !as_text.value}
            session_id={store.id}
          />
        )}
    </section>
  );
}

const NOTES = {
  binary: "This file is neither text nor an image.",
  too_large: "This file is too large to show.",
};

interface ContentProps {
  path: string;
  file: Preview;
  drawn: boolean;
  session_id: string;
}

function Content({ path, file, drawn, session_id }: ContentProps) {
  const { opening } = useApp();
  const inside = useMemo((): Inside => ({
    link(href, said) {
      const to = insideOf(path, href);
      return to && (
        <a
          href={`#${to}`}
          title={to}
          onClick={(event) => {
            event.preventDefault();
            opening.value = to;
          }}
        >
          {said}
        </a>
      );
    },
    image(href, alt, n) {
      const at = insideOf(path, href);
      if (at === undefined || n >= IMAGES_MAX) return undefined;
      return <InsideImage path={at} alt={alt} session_id={session_id} />;
    },
  }), [path]);
  const { kind, text = "", media_type, data } = file;
  if (kind === "image") {
    return (
      <div class="file-image">
        <img src={`data:${media_type};base64,${data}`} alt={path} />
      </div>
    );
  }
  if (kind !== "text") return <p class="file-note">{NOTES[kind]}</p>;
  if (text === "") return <p class="file-note">This file is empty.</p>;
  if (!drawn) return <Text path={path} text={text} />;
  return (
    <div class="file-markdown" role="region" aria-label={`Preview of ${path}`} tabIndex={0}>
      <Markdown text={text} inside={inside} />
    </div>
  );
}

/** Images of one text that are asked for; of others, the words are shown. */
const IMAGES_MAX = 20;

interface InsideImageProps {
  path: string;
  alt: string;
  session_id: string;
}

/** An image of the directory; its words where there is none. */
function InsideImage({ path, alt, session_id }: InsideImageProps) {
  const { client } = useApp();
  const url = useSignal("");
  useEffect(() => {
    let gone = false;
    // Not the one that stood here before.
    url.value = "";
    client.ask("files.read", { session_id, path }).then(({ kind, media_type, data }) => {
      if (!gone && kind === "image") url.value = `data:${media_type};base64,${data}`;
    }, () => {});
    return () => {
      gone = true;
    };
  }, [path]);
  return url.value === "" ? <>{alt}</> : <img src={url} alt={alt} title={path} />;
}

const LINE_PX = 20;
const LINE_CHARS = 2_000;

/** Numbered lines; only those near to be seen are drawn. */
function Text({ path, text }: { path: string; text: string }) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  const tokens = useTokens(text, languageOfPath(path));
  const coloured = useMemo(() => tokens && linesOf(tokens), [tokens]);
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    getItemKey: (n) => n,
    overscan: 30,
  });
  const drawn = virtualizer.getVirtualItems();
  return (
    <div ref={box} class="file-text" role="region" aria-label={`Text of ${path}`} tabIndex={0}>
      <div class="change-all" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        <div class="change-shown" style={{ transform: `translateY(${drawn[0]?.start ?? 0}px)` }}>
          {drawn.map(({ index }) => {
            const line = lines[index];
            const is_long = line.length > LINE_CHARS;
            return (
              <div
                key={index}
                ref={virtualizer.measureElement}
                data-index={index}
                class="file-line"
              >
                <span class="file-number" aria-hidden="true">{index + 1}</span>
                <code>
                  {is_long
                    ? line.slice(0, LINE_CHARS)
                    : coloured?.[index]
                    ? <Coloured tokens={coloured[index]} />
                    : line}
                  {is_long && (
                    <span class="change-aside">
                      {`${line.length - LINE_CHARS} more characters`}
                    </span>
                  )}
                </code>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
