import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";
import { SchemaFields } from "../palette/schema_fields.tsx";
import { fieldsOf, type JsonSchema, paramsOf } from "../palette/schema_form.ts";
import { explain, type Params, type Result } from "../rpc/api.ts";
import { Check } from "../ui/check.tsx";
import { Dialog, FormFoot } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { submitOnCtrlEnter, useSubmit } from "../ui/use_submit.ts";

type Effort = NonNullable<Params<"task.run">["effort"]>;

const EFFORTS: readonly Effort[] = ["minimal", "standard", "thorough", "critical"];
/** As long as a task may take that is waited for. */
const RUN_DEADLINE_MS = 11 * 60_000;

interface CreateProps {
  onQueued(): Promise<unknown>;
  onClose(): void;
}

/** Puts a task in the queue, or runs it at once. */
export function CreateTask({ onQueued, onClose }: CreateProps) {
  const app = useApp();
  const options = useSignal<Result<"task.options">["extra"]>({});
  const task_type = useSignal("research");
  const description = useSignal("");
  const effort = useSignal<Effort>("standard");
  const at_once = useSignal(false);
  const values = useSignal<Record<string, string>>({});
  const fields = fieldsOf((options.value[task_type.value] ?? {}) as JsonSchema);
  const { busy, error, submit } = useSubmit(async () => {
    const request = {
      task_type: task_type.value,
      description: description.value.trim(),
      effort: effort.value,
      extra: paramsOf(fields, values.value),
    };
    const { id } = at_once.value
      ? await app.client.call("task.run", request, { timeout_ms: RUN_DEADLINE_MS })
      : await app.client.call("queue.enqueue", request);
    await onQueued();
    onClose();
    if (at_once.value) app.router.go(`/tasks/${id}`);
    else app.announcer.say("Task added to the queue");
  });
  useEffect(() => {
    app.client.ask("task.options", {}).then(
      ({ extra }) => options.value = extra,
      (thrown) => error.value = explain(thrown),
    );
  }, []);

  return (
    <Dialog title="New task" onClose={onClose}>
      <form class="form" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        <div class="columns">
          <Field label="Type">
            {(control) => (
              <select
                {...control}
                data-focus
                value={task_type}
                onChange={({ currentTarget }) => {
                  task_type.value = currentTarget.value;
                  values.value = {};
                }}
              >
                {Object.keys(options.value).map((it) => <option key={it} value={it}>{it}</option>)}
              </select>
            )}
          </Field>
          <Field label="Effort">
            {(control) => (
              <select
                {...control}
                value={effort}
                onChange={({ currentTarget }) => effort.value = currentTarget.value as Effort}
              >
                {EFFORTS.map((it) => <option key={it} value={it}>{it}</option>)}
              </select>
            )}
          </Field>
        </div>
        <Field label="What to do">
          {(control) => (
            <textarea
              {...control}
              dir="auto"
              rows={3}
              required
              value={description}
              onInput={({ currentTarget }) => description.value = currentTarget.value}
            />
          )}
        </Field>
        <SchemaFields key={task_type.value} fields={fields} values={values} />
        <Check
          label="Run immediately, outside the queue, and wait for the result"
          value={at_once}
        />
        <FormFoot
          busy={busy}
          error={error}
          action={at_once.value ? "Run task" : "Add to queue"}
          back="Close"
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
