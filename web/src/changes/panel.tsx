import "../main.tsx";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { rewindText } from "../../../src/features/chat_commands/undo_command.ts";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import type { SessionStore } from "../session/store.ts";
import { Button } from "../ui/button.tsx";
import { Empty, Failed, Pending } from "../ui/states.tsx";
import { useMedia, WIDE } from "../ui/use_media.ts";
import { Comments, commentsText, linesText, messageIdOf, rangeText } from "./comments.ts";
import { CommitDialog, MergeDialog } from "./commit.tsx";
import { chooseEditor, editor, EDITORS } from "./editors.ts";
import { keep, kept } from "./kept.ts";
import { ChangeList, Comment, Counts } from "./list.tsx";
import { ChangesModel, type FileModel, type Scope } from "./model.ts";
import type { Writing } from "./rows.ts";
import { UndoDialog } from "./undo.tsx";

export type Repository = Result<"repository.changes">;

interface ChangesPanelProps {
  store: SessionStore;
  /** Whether the panel takes the place of the conversation too. */
  whole: Signal<boolean>;
  onClose(): void;
}

/** What a session changed, file by file. */
export default function ChangesPanel({ store, whole, onClose }: ChangesPanelProps) {
  const { client } = useApp();
  const scope = useSignal<Scope>("session");
  const repository = useSignal<Repository | undefined>(undefined);
  const comments = useMemo(() => new Comments(store.id), [store.id]);
  useEffect(() => {
    // Another tab has written, sent or deleted some.
    const refresh = () => comments.refresh();
    addEventListener("storage", refresh);
    return () => removeEventListener("storage", refresh);
  }, [comments]);
  useEffect(() => {
    const ask = client.ask("repository.changes", { session_id: store.id });
    // Without git there is nothing to commit.
    ask.then((it) => repository.value = it, () => {});
  }, []);
  const scopes: [Scope, string][] = [["session", "This session"], ["turn", "Last turn"]];
  const kind = repository.value?.kind ?? "none";
  if (kind !== "none") scopes.push(["uncommitted", "Not committed"]);
  return (
    <section class="side changes" aria-labelledby="changes-heading">
      <header class="side-head">
        <h2 id="changes-heading" tabIndex={-1}>Changes</h2>
        <label class="choice">
          <span class="visually-hidden">What is compared</span>
          <select
            value={scope}
            onChange={({ currentTarget }) => scope.value = currentTarget.value as Scope}
          >
            {scopes.map(([it, words]) => <option key={it} value={it}>{words}</option>)}
          </select>
        </label>
        <Button
          class="side-whole"
          tone="quiet"
          aria-pressed={whole.value}
          icon="whole"
          label={whole.value ? "Show the conversation too" : "Use the whole width"}
          onClick={() => whole.value = !whole.value}
        />
        <Button tone="quiet" icon="close" label="Close changes" onClick={onClose} />
      </header>
      <Scoped
        key={scope.value}
        scope={scope.value}
        store={store}
        comments={comments}
        repository={repository}
      />
    </section>
  );
}

/** The changes follow the work, but no faster than this. */
const PAUSE_MS = 1_000;

interface ScopedProps {
  scope: Scope;
  store: SessionStore;
  comments: Comments;
  repository: Signal<Repository | undefined>;
}

function Scoped({ scope, store, comments, repository }: ScopedProps) {
  const { client, announcer } = useApp();
  const [model] = useState(() => new ChangesModel(client, store.id, scope));
  const wide = useMedia(WIDE);
  const split = useSignal(kept(STORED) === "true");
  const writing = useSignal<Writing | undefined>(undefined);
  const goto = useSignal<string | undefined>(undefined);
  /** What is undone: a file, or with null all of the turn. */
  const undoing = useSignal<FileModel | null | undefined>(undefined);
  const dialog = useSignal<"commit" | "merge" | undefined>(undefined);
  const said = useSignal("");
  const [pace] = useState({ last: 0 });
  useEffect(() => {
    const leave = () => {
      comments.keepDrafts(writing.peek());
      // A page that comes back would add the same comment again.
      writing.value = undefined;
    };
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      leave();
    };
  }, []);
  const live = useLive({
    async ask() {
      const rest = pace.last + PAUSE_MS - Date.now();
      if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
      pace.last = Date.now();
      return await model.list();
    },
    types: ["session.tool_completed", "turn.completed", "session.rewound", "background.ended"],
    every_ms: 20_000,
  });
  const files = model.files.value;
  const paths = new Set(files.map(({ path }) => path));
  useEffect(() => {
    const begun = writing.peek();
    if (begun === undefined || paths.has(begun.path)) return;
    // Its file is no longer listed, and with it its box.
    comments.keepDraft(rangeText(begun), begun);
    writing.value = undefined;
  }, [files]);
  const listing = live.value.value;
  if (listing === undefined) {
    return <Pending of={live} lines={8} label="Loading the changes" />;
  }
  const { files_changed, truncated, others, problem, turn_id } = listing;
  const kind = repository.value?.kind ?? "none";
  const is_split = split.value && wide;
  const all = comments.all.value;
  const unlisted = all.filter(({ path }) => !paths.has(path));
  const choose = () => {
    split.value = !split.value;
    keep(STORED, String(split.value));
  };
  const send = async () => {
    // As they are in their boxes.
    for (const { id } of comments.refresh()) comments.keepDraft(id);
    // What another tab has just written is not seen yet.
    const sent = comments.refresh().filter(({ id }) => all.some((it) => it.id === id));
    if (sent.length === 0) return;
    await client.call("session.send", {
      session_id: store.id,
      text: commentsText(sent),
      client_message_id: messageIdOf(sent),
    });
    comments.remove(sent.map(({ id }) => id));
    announcer.say("Comments sent");
  };
  const refresh = async () => {
    pace.last = 0;
    await live.refresh();
    repository.value = await client.ask("repository.changes", { session_id: store.id });
  };
  const ended = store.state.state === "ended";
  return (
    <>
      <div class="side-bar">
        <p class="change-sum">
          {`${files_changed} file${files_changed === 1 ? "" : "s"}`}
          <Counts of={truncated ? listing : sumOf(files)} />
        </p>
        {files.length > 1 && (
          <label class="choice change-goto">
            <span class="visually-hidden">Go to a file</span>
            <select
              value=""
              onChange={({ currentTarget }) => {
                goto.value = currentTarget.value;
                currentTarget.value = "";
              }}
            >
              <option value="">Go to…</option>
              {files.map(({ path }) => <option key={path} value={path}>{path}</option>)}
            </select>
          </label>
        )}
        <label class="choice change-editors">
          <span class="visually-hidden">Open files in</span>
          <select
            value={editor}
            onChange={({ currentTarget }) => chooseEditor(currentTarget.value)}
          >
            {Object.entries(EDITORS).map(([it, { name }]) => (
              <option key={it} value={it}>{name}</option>
            ))}
          </select>
        </label>
        {wide && (
          <Button
            tone="quiet"
            icon="columns"
            label="Side by side"
            aria-pressed={split.value}
            onClick={choose}
          />
        )}
        {scope === "turn" && turn_id !== undefined && files.length > 0 && !ended && (
          <Button
            icon="undo"
            onClick={() => undoing.value = null}
          >
            Undo the turn
          </Button>
        )}
        {kind !== "none" && (
          <Button icon="check" onClick={() => dialog.value = "commit"}>Commit</Button>
        )}
        {kind === "worktree" && (
          <Button icon="repository" onClick={() => dialog.value = "merge"}>Merge</Button>
        )}
      </div>
      {live.error.value !== undefined && (
        <Failed
          message={live.error.value}
          onRetry={() => live.refresh()}
        />
      )}
      {said.value !== "" && <p class="change-told" role="status">{said}</p>}
      {files.length === 0
        ? (
          <Empty icon="file" title="No changes">
            <p>{problem ?? NOTHING[scope]}</p>
          </Empty>
        )
        : (
          <ChangeList
            files={files}
            split={is_split}
            comments={comments}
            writing={writing}
            workdir={store.state.workdir}
            goto={goto}
            onUndo={scope === "uncommitted" || ended ? undefined : (file) => undoing.value = file}
          />
        )}
      {(truncated || others.length > 0) && (
        <p class="change-told">
          {truncated && `Only the first ${listing.files.length} files are shown. `}
          {others.length > 0 && `Changed since by you or another program: ${namesOf(others)}`}
        </p>
      )}
      {unlisted.length > 0 && (
        <section class="change-unlisted" aria-label={UNLISTED} tabIndex={0}>
          <p class="change-about">{UNLISTED}</p>
          {unlisted.map((it) => <Comment key={it.id} comments={comments} comment={it} />)}
        </section>
      )}
      <footer class="side-foot">
        {writing.value?.open === false && (
          <Button
            icon="edit"
            onClick={() => writing.value = { ...writing.value!, open: true }}
          >
            {`Comment on ${linesText(writing.value)}`}
          </Button>
        )}
        {all.length > 0 && !ended && (
          <Button icon="send" tone="primary" onClick={send}>
            {all.length === 1 ? "Send 1 comment" : `Send ${all.length} comments`}
          </Button>
        )}
      </footer>
      {undoing.value !== undefined && (
        <UndoDialog
          session_id={store.id}
          path={undoing.value?.path}
          turn_id={scope === "turn" ? turn_id : undefined}
          onDone={(done) => {
            const lines = rewindText(done).split("\n");
            const text = lines.slice(0, NAMED_MAX).join("\n");
            said.value = text.charAt(0).toUpperCase() + text.slice(1);
            refresh();
          }}
          onClose={() => undoing.value = undefined}
        />
      )}
      {dialog.value === "commit" && (
        <CommitDialog
          session_id={store.id}
          changed={files.flatMap(({ entry: { value: { path, renamed_from } } }) =>
            renamed_from === undefined ? [path] : [path, renamed_from]
          )}
          onDone={(text) => {
            said.value = text;
            refresh();
          }}
          onClose={() => dialog.value = undefined}
        />
      )}
      {dialog.value === "merge" && (
        <MergeDialog
          repository={repository.value!}
          onDone={(text) => {
            said.value = text;
            refresh();
          }}
          onClose={() => dialog.value = undefined}
        />
      )}
    </>
  );
}

/** Files that are named. */
const NAMED_MAX = 10;

function namesOf(paths: readonly string[]): string {
  const named = paths.slice(0, NAMED_MAX).join(", ");
  return paths.length > NAMED_MAX ? `${named} and ${paths.length - NAMED_MAX} more` : named;
}

/** A renamed file counts with what differs in it. */
function sumOf(files: readonly FileModel[]): { added: number; deleted: number } {
  const sum = (name: "added" | "deleted") =>
    files.reduce((total, { entry }) => total + (entry.value[name] ?? 0), 0);
  return { added: sum("added"), deleted: sum("deleted") };
}

const NOTHING: Record<Scope, string> = {
  session: "Files that this session changes appear here.",
  turn: "The last turn has changed no file.",
  uncommitted: "Everything is committed.",
};

const UNLISTED = "Comments on files that are not listed";

const STORED = "svc.side_by_side";
