import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { Dialog, FormFoot } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { useSubmit } from "../ui/use_submit.ts";
import {
  CATEGORIES,
  type Category,
  type Entry,
  isOwned,
  type Scope,
  SCOPES,
  scopeWord,
} from "./entry.ts";

interface EntryDialogProps {
  /** What is edited; without it something new is remembered. */
  entry?: Entry;
  onSaved(): Promise<unknown>;
  onClose(): void;
}

/** Writes an entry of the memory. */
export function EntryDialog({ entry, onSaved, onClose }: EntryDialogProps) {
  const { client, announcer, sessions } = useApp();
  const content = useSignal(entry?.content ?? "");
  const category = useSignal<Category>(entry?.category ?? "fact");
  const scope = useSignal<Scope>(entry?.scope ?? "AllSessions");
  const tags = useSignal(entry?.tags.join(", ") ?? "");
  const session_id = useSignal("");
  // What stays with its owner needs none named.
  const asks_owner = isOwned(scope.value) && scope.value !== entry?.scope;

  const { submit, ...foot } = useSubmit(async () => {
    const written = {
      content: content.value.trim(),
      category: category.value,
      scope: scope.value,
      tags: tags.value.split(",").map((it) => it.trim()).filter((it) => it !== ""),
      ...(asks_owner ? { session_id: session_id.value } : {}),
    };
    if (entry === undefined) {
      const { is_new } = await client.call("cortex.remember", written);
      announcer.say(is_new ? "Remembered" : "Already in the memory");
    } else {
      await client.call("cortex.update", { entry_id: entry.entry_id, ...written });
      announcer.say("Changed");
    }
    await onSaved();
    onClose();
  });

  return (
    <Dialog title={entry === undefined ? "Remember something" : "Edit entry"} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <Field label="What" hint="A sentence that makes sense on its own.">
          {(control) => (
            <textarea
              {...control}
              dir="auto"
              rows={4}
              required
              data-focus
              maxLength={2000}
              value={content}
              onInput={({ currentTarget }) => content.value = currentTarget.value}
            />
          )}
        </Field>
        <div class="columns">
          <Field label="Category">
            {(control) => (
              <select
                {...control}
                value={category}
                onChange={({ currentTarget }) => category.value = currentTarget.value as Category}
              >
                {Object.entries(CATEGORIES).map(([it, word]) => (
                  <option key={it} value={it}>{word}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Scope" hint={SCOPES[scope.value]}>
            {(control) => (
              <select
                {...control}
                value={scope}
                onChange={({ currentTarget }) => scope.value = currentTarget.value as Scope}
              >
                {Object.keys(SCOPES).map((it) => (
                  <option key={it} value={it}>{scopeWord(it)}</option>
                ))}
              </select>
            )}
          </Field>
        </div>
        {asks_owner && (
          <Field label="Session" hint="The session that owns the entry, or whose directory does.">
            {(control) => (
              <select
                {...control}
                required
                value={session_id}
                onChange={({ currentTarget }) => session_id.value = currentTarget.value}
              >
                <option value="">Choose one</option>
                {(sessions.items.value ?? []).map(({ id, title }) => (
                  <option key={id} value={id}>{title}</option>
                ))}
              </select>
            )}
          </Field>
        )}
        <Field label="Tags" optional hint="Separate tags with commas.">
          {(control) => (
            <input
              {...control}
              value={tags}
              onInput={({ currentTarget }) => tags.value = currentTarget.value}
            />
          )}
        </Field>
        <FormFoot {...foot} action={entry === undefined ? "Remember" : "Save"} onClose={onClose} />
      </form>
    </Dialog>
  );
}
