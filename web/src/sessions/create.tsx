import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { submitOnCtrlEnter, useSubmit } from "../ui/use_submit.ts";
import type { Approval } from "./approval.ts";
import { ApprovalField } from "./approval_field.tsx";
import { ModelField } from "./model_field.tsx";
import { TitleField } from "./title_field.tsx";
import { WorkdirField } from "./workdir_field.tsx";

/** Starts a session and opens it. */
export function CreateSession({ onClose }: { onClose(): void }) {
  const app = useApp();
  const workdir = useSignal("");
  const title = useSignal("");
  const model = useSignal("");
  const prompt = useSignal("");
  const approval = useSignal<Approval>("ask");

  const { busy, error, submit } = useSubmit(async () => {
    const { session_id } = await app.client.call("session.start", {
      workdir: workdir.value.trim(),
      approval: approval.value,
      ...(title.value.trim() && { title: title.value.trim() }),
      ...(model.value.trim() && { model: model.value.trim() }),
      ...(prompt.value.trim() && { prompt: prompt.value }),
    });
    onClose();
    app.router.go(`/sessions/${session_id}`);
    app.sessions.refresh();
  });

  return (
    <Dialog title="New session" onClose={onClose}>
      <form class="form" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        <WorkdirField value={workdir} hint="The agent works only in this directory." />
        <Field label="First message" optional>
          {(control) => (
            <textarea
              {...control}
              rows={3}
              dir="auto"
              placeholder="What should the agent do?"
              value={prompt}
              onInput={({ currentTarget }) => prompt.value = currentTarget.value}
            />
          )}
        </Field>
        <div class="columns">
          <ModelField value={model} />
          <TitleField value={title} optional />
        </div>
        <ApprovalField value={approval} />
        {error.value && <p class="form-error" role="alert">{error}</p>}
        <footer class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" aria-busy={busy.value}>Start session</Button>
        </footer>
      </form>
    </Dialog>
  );
}
