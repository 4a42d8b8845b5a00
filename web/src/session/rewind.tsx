import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { rewindText } from "../../../src/features/chat_commands/undo_command.ts";
import type { NoteItem, UserItem } from "../../../src/session/view.ts";
import { useApp } from "../app.ts";
import type { Params } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, FormFoot } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { useSubmit } from "../ui/use_submit.ts";
import { useWaiting } from "./queued.tsx";
import type { SessionStore } from "./store.ts";

type What = NonNullable<Params<"session.rewind">["what"]>;

/** The words for each. */
const WHAT: Record<What, string> = {
  both: "Files and conversation",
  conversation: "Conversation only",
  files: "Files only",
};

/** What becomes of files that somebody else changed since. */
type Others = "refuse" | "keep" | "overwrite";

const FORCE: Record<Others, Params<"session.rewind">["force"]> = {
  refuse: false,
  keep: [],
  overwrite: true,
};

interface MessageActionsProps {
  item: UserItem;
  store: SessionStore;
}

/** What can be done with a message of the person: go back to before it, or go on from there elsewhere. */
export function MessageActions({ item, store }: MessageActionsProps) {
  const app = useApp();
  const { client, router, sessions } = app;
  const asking = useSignal<"edit" | "rewind" | undefined>(undefined);
  const { message_id } = item;
  if (message_id === undefined || store.state.state === "ended") return null;
  if (item.waits) return <TakeBack message_id={message_id} store={store} />;
  const fork = async () => {
    const { session_id } = await client.call("session.fork", { session_id: store.id, message_id });
    router.go(`/sessions/${session_id}`);
    sessions.refresh();
  };
  return (
    <div class="asked-actions">
      <Button tone="quiet" icon="copy" onClick={() => app.copy(item.text)}>Copy</Button>
      <Button tone="quiet" icon="edit" onClick={() => asking.value = "edit"}>Edit</Button>
      <Button tone="quiet" icon="undo" onClick={() => asking.value = "rewind"}>Go back</Button>
      <Button tone="quiet" icon="repository" onClick={fork}>Fork</Button>
      {asking.value && (
        <Rewind
          message_id={message_id}
          seq={item.seq}
          text={item.text}
          attachments={item.attachments}
          edit={asking.value === "edit"}
          store={store}
          onClose={() => asking.value = undefined}
        />
      )}
    </div>
  );
}

interface TakeBackProps {
  message_id: string;
  store: SessionStore;
}

/** Puts a message that waits back into the composer, or has it wait for a turn of its own. */
function TakeBack({ message_id, store }: TakeBackProps) {
  const { takeBack, redeliver } = useWaiting(store);
  return (
    <div class="asked-actions">
      <Button tone="quiet" icon="undo" onClick={() => takeBack(message_id)}>Take back</Button>
      <Button tone="quiet" icon="down" onClick={() => redeliver(message_id, "queue")}>
        Queue
      </Button>
    </div>
  );
}

interface RewindProps {
  message_id: string;
  seq: number;
  text: string;
  attachments: UserItem["attachments"];
  /** Whether the message is to be changed and sent again. */
  edit: boolean;
  store: SessionStore;
  onClose(): void;
}

function Rewind({ message_id, seq, text, attachments, edit, store, onClose }: RewindProps) {
  const { client, announcer } = useApp();
  // Where no file was changed since, there is none to go back to.
  const has_files = store.state.undo.turns.some((it) => it.seq >= seq && !it.undone_by);
  const what = useSignal<What>(has_files ? "both" : "conversation");
  const others = useSignal<Others>("refuse");
  const works = store.state.turn !== undefined;
  /** Whether what somebody else changed stands in the way, and not anything else. */
  const isRefused = async () => {
    const params = { session_id: store.id, message_id, what: what.value, dry_run: true };
    const planned = await client.ask("session.rewind", params).catch(() => undefined);
    return planned?.refused === true;
  };
  const { submit, ...foot } = useSubmit(async () => {
    const done = await client.call("session.rewind", {
      session_id: store.id,
      message_id,
      what: what.value,
      force: FORCE[others.value],
    }).catch(async (error) => {
      if (others.value === "refuse" && await isRefused()) others.value = "keep";
      throw error;
    });
    announcer.say(
      done.files_changed === 1 ? "1 file changed" : `${done.files_changed} files changed`,
    );
    // To be changed and sent again; who only went back may be writing something else.
    const writes = store.draft.text.peek().trim() !== "";
    if (edit || what.value !== "files" && !writes) {
      store.edit({ message_id, seq, text, ...(attachments && { attachments: [...attachments] }) });
    }
    onClose();
  });
  return (
    <Dialog
      title={edit ? "Edit this message?" : "Go back to before this message?"}
      onClose={onClose}
    >
      <form class="form" onSubmit={submit}>
        <Field
          label="What goes back"
          hint={works
            ? "Stop the turn first, or wait for its end."
            : has_files
            ? "Files become what they were before this message, also where a command changed them. You can undo this."
            : "No file was changed since. You can undo this."}
        >
          {(control) => (
            <select
              {...control}
              data-focus
              value={what}
              onChange={({ currentTarget }) => what.value = currentTarget.value as What}
            >
              {Object.entries(WHAT).filter(([it]) =>
                it === "conversation" || has_files && (it === "both" || !edit)
              ).map(([it, words]) => <option key={it} value={it}>{words}</option>)}
            </select>
          )}
        </Field>
        <Preview
          store={store}
          message_id={message_id}
          what={what.value}
          others={others}
        />
        {others.value !== "refuse" && (
          <Field label="What somebody else changed since">
            {(control) => (
              <select
                {...control}
                value={others}
                onChange={({ currentTarget }) => others.value = currentTarget.value as Others}
              >
                <option value="keep">Keep it</option>
                <option value="overwrite">Overwrite it</option>
              </select>
            )}
          </Field>
        )}
        <FormFoot {...foot} action={edit ? "Edit" : "Go back"} disabled={works} onClose={onClose} />
      </form>
    </Dialog>
  );
}

interface PreviewProps {
  store: SessionStore;
  message_id: string;
  what: What;
  /** Becomes "keep" where there is something to keep. */
  others: Signal<Others>;
}

/** Says what going back would change. */
function Preview({ store, message_id, what, others }: PreviewProps) {
  const { client } = useApp();
  const text = useSignal("");
  useEffect(() => {
    let current = true;
    const force = FORCE[others.value];
    const params = { session_id: store.id, message_id, what, force, dry_run: true };
    client.call("session.rewind", params).then((done) => {
      if (!current) return;
      if (done.refused) others.value = "keep";
      else text.value = rewindText(done);
      // An error is shown by going back itself.
    }, () => current && (text.value = ""));
    return () => current = false;
  }, [what, others.value]);
  return text.value === "" ? null : <p class="field-hint preview" role="status">{text}</p>;
}

/** Undoes the last rewind, at the note about it. */
export function UndoRewind({ item, store }: { item: NoteItem; store: SessionStore }) {
  const { client } = useApp();
  const last = store.state.undo.rewinds.findLast(({ undone }) => !undone);
  if (last === undefined || last.rewind_id !== item.rewind_id) return null;
  const undo = () => client.call("session.rewind", { session_id: store.id, undo: true });
  return <Button tone="quiet" icon="undo" onClick={undo}>Undo</Button>;
}
