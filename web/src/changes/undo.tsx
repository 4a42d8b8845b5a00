import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { rewindText } from "../../../src/features/chat_commands/undo_command.ts";
import { useApp } from "../app.ts";
import { explain, type Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useSubmit } from "../ui/use_submit.ts";

interface UndoDialogProps {
  session_id: string;
  /** The file; without one, all that the turn changed. */
  path?: string;
  turn_id?: string;
  onDone(done: Result<"session.undo_file">): void;
  onClose(): void;
}

/** Asks before files go back, and says what would be lost. */
export function UndoDialog({ session_id, path, turn_id, onDone, onClose }: UndoDialogProps) {
  const { client } = useApp();
  const preview = useSignal<Result<"session.undo_file"> | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const overwrite = useSignal(false);
  const of = { session_id, path, turn_id };
  useEffect(() => {
    client.call("session.undo_file", { ...of, dry_run: true }).then(
      (it) => preview.value = it,
      (error) => refused.value = explain(error),
    );
  }, []);
  const asks = preview.value?.refused ?? false;
  const { busy, error, submit } = useSubmit(async () => {
    // With an empty list, what others changed is kept.
    const force = asks ? overwrite.value || [] : false;
    onDone(await client.call("session.undo_file", { ...of, force }));
    onClose();
  });
  const what = path === undefined ? "The files of this turn become" : `${path} becomes`;
  return (
    <Dialog
      title={path === undefined ? "Undo this turn’s changes?" : "Undo the change of this file?"}
      onClose={onClose}
    >
      <form class="form" onSubmit={submit}>
        <p>
          {`${what} what ${path === undefined ? "they were" : "it was"} before ${
            turn_id === undefined ? "the last turn that changed it" : "this turn"
          }. You can undo this in the conversation.`}
        </p>
        {preview.value && !asks && (
          <p class="field-hint preview" role="status">{rewindText(preview.value)}</p>
        )}
        {preview.value && asks && (
          <>
            <p class="field-hint preview" role="status">
              {`Changed since by you or another program:\n${
                preview.value.kept.map(({ path }) => `  ${path}`).join("\n")
              }`}
            </p>
            <label class="check">
              <input
                type="checkbox"
                checked={overwrite}
                onChange={({ currentTarget }) => overwrite.value = currentTarget.checked}
              />
              <span>Overwrite these too</span>
            </label>
          </>
        )}
        {(error.value ?? refused.value) && (
          <p class="form-error" role="alert">{error.value ?? refused.value}</p>
        )}
        <footer class="dialog-foot">
          <Button onClick={onClose} data-focus>Cancel</Button>
          <Button
            type="submit"
            tone="danger"
            disabled={refused.value !== undefined}
            aria-busy={busy.value}
          >
            Undo
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
