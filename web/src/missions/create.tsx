import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { explain, RpcError } from "../rpc/api.ts";
import { ModelField } from "../sessions/model_field.tsx";
import { WorkdirField } from "../sessions/workdir_field.tsx";
import { Button } from "../ui/button.tsx";
import { Check } from "../ui/check.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { submitOnCtrlEnter, useSubmit } from "../ui/use_submit.ts";
import { EXAMPLE } from "./example.ts";

type Fault = Partial<Record<"workdir" | "spec" | "form", string>>;

/** Begins a mission and opens it. */
export function CreateMission({ onClose }: { onClose(): void }) {
  const app = useApp();
  const workdir = useSignal("");
  const spec = useSignal(EXAMPLE);
  const unattended = useSignal(false);
  const model = useSignal("");
  const fault = useSignal<Fault>({});

  const { busy, submit } = useSubmit(async () => {
    fault.value = {};
    try {
      const { mission_id } = await app.client.call("mission.create", {
        workdir: workdir.value.trim(),
        spec: spec.value,
        ...(model.value.trim() && { model: model.value.trim() }),
        approval: unattended.value ? "auto" : "ask",
      });
      onClose();
      app.router.go(`/missions/${mission_id}`);
    } catch (error) {
      fault.value = faultOf(error);
    }
  });

  return (
    <Dialog title="New mission" onClose={onClose} wide>
      <form class="form" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        <WorkdirField
          value={workdir}
          hint="In a git repository, tasks run in parallel, and the result is merged into its branch."
          error={fault.value.workdir}
        />
        <Field
          label="Statement of work"
          hint="YAML or JSON. A criterion is checked with a command, a file that must exist or a pattern in a file; without these, a model judges its description."
          error={fault.value.spec}
        >
          {(control) => (
            <textarea
              {...control}
              class="mono spec"
              required
              rows={12}
              spellcheck={false}
              value={spec}
              onInput={({ currentTarget }) => spec.value = currentTarget.value}
            />
          )}
        </Field>
        <ModelField value={model} />
        <Check
          label="Allow writing files, running commands and changing checks without asking"
          value={unattended}
        />
        {fault.value.form && <p class="form-error" role="alert">{fault.value.form}</p>}
        <footer class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" aria-busy={busy.value}>Start mission</Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** What was refused, by the field that it belongs to. */
function faultOf(error: unknown): Fault {
  const issues = error instanceof RpcError ? error.issues ?? [] : [];
  const fault: Fault = {};
  for (const { path, message } of issues) {
    // The path of what is wrong in a spec is a text.
    const field = typeof path === "string" ? "spec" : path[0] === "workdir" ? "workdir" : "form";
    const text = typeof path === "string" && path !== "" ? `${path}: ${message}` : message;
    fault[field] = fault[field] === undefined ? text : `${fault[field]}\n${text}`;
  }
  return issues.length > 0 ? fault : { form: explain(error) };
}
