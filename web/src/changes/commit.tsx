import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";
import { explain, type Params, type Result } from "../rpc/api.ts";
import { Dialog, FormFoot } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Failed, Loading } from "../ui/states.tsx";
import { submitOnCtrlEnter, useSubmit } from "../ui/use_submit.ts";

/** Files that can be chosen one by one. */
const FILES_MAX = 300;

interface CommitDialogProps {
  session_id: string;
  /** The files that are chosen at first. */
  changed: readonly string[];
  /** Called with what was done. */
  onDone(text: string): void;
  onClose(): void;
}

/** Commits what is not committed, or a part of it. */
export function CommitDialog({ session_id, changed, onDone, onClose }: CommitDialogProps) {
  const { client } = useApp();
  const found = useSignal<Result<"repository.changes"> | undefined>(undefined);
  const failed = useSignal<string | undefined>(undefined);
  const message = useSignal("");
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  useEffect(() => {
    client.ask("repository.changes", { session_id }).then((it) => {
      const paths = it.files.map(({ path }) => path);
      const ours = paths.filter((path) => changed.includes(path));
      chosen.value = new Set(ours.length > 0 ? ours : paths);
      found.value = it;
    }, (error) => failed.value = explain(error));
  }, []);
  const files = found.value?.files ?? [];
  const by_file = files.length <= FILES_MAX && !found.value?.truncated;
  const { submit, ...foot } = useSubmit(async () => {
    const shown = by_file ? files.filter(({ path }) => chosen.value.has(path)) : files;
    const { commit } = await client.call("repository.commit", {
      session_id,
      message: message.value,
      // Of all files, so that a new one that was not shown is left out.
      paths: by_file ? shown.map(({ path }) => path) : undefined,
      versions: Object.fromEntries(shown.map(({ path, version = "" }) => [path, version])),
    });
    onDone(commit === undefined ? "Nothing to commit" : `Committed as ${commit.slice(0, 10)}`);
    onClose();
  });
  const toggle = (path: string, on: boolean) => {
    const next = new Set(chosen.value);
    if (on) next.add(path);
    else next.delete(path);
    chosen.value = next;
  };
  return (
    <Dialog title="Commit" onClose={onClose} wide>
      {failed.value !== undefined
        ? <Failed message={failed.value} />
        : found.value === undefined
        ? <Loading lines={4} label="Loading what is not committed" />
        : files.length === 0
        ? <p>Everything is committed.</p>
        : (
          <form class="form" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
            <Field
              label="Message"
              hint={`On ${
                found.value.branch ?? "no branch"
              }, in your name. Hooks of the repository do not run.`}
            >
              {(control) => (
                <textarea
                  {...control}
                  data-focus
                  dir="auto"
                  rows={4}
                  required
                  maxLength={10_000}
                  value={message}
                  onInput={({ currentTarget }) => message.value = currentTarget.value}
                />
              )}
            </Field>
            {by_file
              ? (
                <fieldset class="commit-files">
                  <legend>{`${chosen.value.size} of ${files.length} files`}</legend>
                  <div class="commit-list" role="group" aria-label="Files" tabIndex={0}>
                    {files.map(({ path, change }) => (
                      <label key={path} class="check">
                        <input
                          type="checkbox"
                          checked={chosen.value.has(path)}
                          onChange={({ currentTarget }) => toggle(path, currentTarget.checked)}
                        />
                        <span class="mono">{path}</span>
                        {change !== "changed" && (
                          <span class={`change-word ${change}`}>
                            {change === "added" ? "new" : change}
                          </span>
                        )}
                      </label>
                    ))}
                  </div>
                </fieldset>
              )
              : <p class="hint">{`Commits all ${found.value.files_changed} files.`}</p>}
            <FormFoot
              {...foot}
              action="Commit"
              disabled={by_file && chosen.value.size === 0}
              onClose={onClose}
            />
          </form>
        )}
    </Dialog>
  );
}

type Strategy = NonNullable<Params<"worktree.merge">["strategy"]>;

const STRATEGIES: Record<Strategy, string> = {
  "ff-only": "Move the checkout forward",
  squash: "Make one commit",
  ours: "Only mark it as merged, keep the checkout’s files",
};

interface MergeDialogProps {
  repository: Result<"repository.changes">;
  onDone(text: string): void;
  onClose(): void;
}

/** Merges the worktree of a session into the repository's checkout. */
export function MergeDialog({ repository, onDone, onClose }: MergeDialogProps) {
  const { client } = useApp();
  const strategy = useSignal<Strategy>("squash");
  const message = useSignal("");
  const refused = useSignal<Result<"worktree.merge"> | undefined>(undefined);
  const { repo, worktree, branch } = repository;
  const { submit, ...foot } = useSubmit(async () => {
    const done = await client.call("worktree.merge", {
      workdir: repo!,
      name: worktree!,
      strategy: strategy.value,
      message: message.value.trim() || undefined,
    });
    refused.value = done.merged ? undefined : done;
    if (!done.merged) return;
    onDone(`Merged ${branch ?? worktree} as ${done.commit?.slice(0, 10)}`);
    onClose();
  });
  return (
    <Dialog title="Merge this worktree" onClose={onClose}>
      <form class="form" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        <p>{`All changes are committed on ${branch ?? worktree} and merged into ${repo}.`}</p>
        <Field label="How">
          {(control) => (
            <select
              {...control}
              data-focus
              value={strategy}
              onChange={({ currentTarget }) => strategy.value = currentTarget.value as Strategy}
            >
              {Object.entries(STRATEGIES).map(([it, words]) => (
                <option key={it} value={it}>{words}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Message" optional>
          {(control) => (
            <textarea
              {...control}
              dir="auto"
              rows={3}
              maxLength={10_000}
              value={message}
              onInput={({ currentTarget }) => message.value = currentTarget.value}
            />
          )}
        </Field>
        {refused.value && (
          <p class="form-error preview" role="alert">
            {[`Not merged: ${refused.value.reason ?? "there are conflicts"}`]
              .concat(refused.value.conflicts ?? []).join("\n  ")}
          </p>
        )}
        <FormFoot {...foot} action="Merge" onClose={onClose} />
      </form>
    </Dialog>
  );
}
