import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import {
  type CriterionItem,
  type Kind,
  type MissionForm,
  newCriterion,
  newTask,
  taskIds,
  type TaskItem,
} from "./spec_form.ts";

const KIND_WORDS: Record<Kind, string> = {
  command: "A command that must succeed",
  file_exists: "A file that must exist",
  content_match: "A pattern in a file",
  judged: "A model judges the description",
};

interface FieldsProps {
  form: MissionForm;
  /** What was refused, by its place in the statement of work. */
  faults: Readonly<Record<string, string>>;
  onChange(form: MissionForm): void;
}

/** The fields of a mission: what it is for, its tasks, and how it is checked. */
export function SpecFields({ form, faults, onChange }: FieldsProps) {
  const ids = taskIds(form);
  const { tasks, criteria, next } = form;
  return (
    <>
      <Input
        label="Goal"
        value={form.name}
        error={faults.name}
        onChange={(name) => onChange({ ...form, name, id: undefined, session: undefined })}
      />
      <Items
        title="Tasks"
        noun="task"
        hint="Each is done by an agent of its own. Tasks that do not depend on each other run side by side."
        items={tasks}
        least={1}
        onAdd={() => onChange({ ...form, tasks: [...tasks, newTask(next)], next: next + 1 })}
        onChange={(tasks) => onChange({ ...form, tasks })}
      >
        {(task, n, change) => (
          <TaskFields
            task={task}
            id={ids[n]}
            tasks={tasks}
            ids={ids}
            fault={(name) => faultBelow(faults, `sessions[0].tasks[${n}]`, name)}
            onChange={change}
          />
        )}
      </Items>
      <Items
        title="Done when"
        noun="criterion"
        hint="What must hold at the end. Without any, the mission is done when its tasks are."
        items={criteria}
        least={0}
        onAdd={() =>
          onChange({ ...form, criteria: [...criteria, newCriterion(next)], next: next + 1 })}
        onChange={(criteria) => onChange({ ...form, criteria })}
      >
        {(criterion, n, change) => (
          <CriterionFields
            criterion={criterion}
            fault={(name) => faultBelow(faults, `sessions[0].acceptance_criteria[${n}]`, name)}
            onChange={change}
          />
        )}
      </Items>
    </>
  );
}

/** What was refused of a member, or of anything in it. */
function faultBelow(
  faults: Readonly<Record<string, string>>,
  place: string,
  name: string,
): string | undefined {
  const path = `${place}.${name}`;
  const found = Object.entries(faults)
    .filter(([it]) => it === path || it.startsWith(`${path}[`)).map(([, text]) => text);
  return found.length > 0 ? found.join("\n") : undefined;
}

interface ItemsProps<T> {
  title: string;
  noun: string;
  hint: string;
  items: readonly T[];
  /** So many stay. */
  least: number;
  onAdd(): void;
  onChange(items: T[]): void;
  children(item: T, n: number, change: (changes: Partial<T>) => void): ComponentChildren;
}

/** A list of parts of a form: added, moved and removed, the focus with them. */
function Items<T extends { key: number }>(
  { title, noun, hint, items, least, onAdd, onChange, children }: ItemsProps<T>,
) {
  const Noun = noun.charAt(0).toUpperCase() + noun.slice(1);
  const move = (from: number, to: number) => {
    if (to < 0 || to >= items.length) return;
    const moved = [...items];
    moved.splice(to, 0, ...moved.splice(from, 1));
    onChange(moved);
  };
  return (
    <section class="spec-items">
      <h3>{title}</h3>
      <p class="field-hint">{hint}</p>
      {items.map((item, n) => (
        <fieldset key={item.key} data-item={`${noun} ${item.key}`}>
          <legend>{Noun} {n + 1}</legend>
          <div class="spec-item-tools">
            <Button
              label={`Move ${noun} ${n + 1} up`}
              icon="up"
              tone="quiet"
              disabled={n === 0}
              onClick={(event) => {
                move(n, n - 1);
                focusLater(event.currentTarget as HTMLElement);
              }}
            />
            <Button
              label={`Move ${noun} ${n + 1} down`}
              icon="down"
              tone="quiet"
              disabled={n === items.length - 1}
              onClick={(event) => {
                move(n, n + 1);
                focusLater(event.currentTarget as HTMLElement);
              }}
            />
            <Button
              label={`Remove ${noun} ${n + 1}`}
              icon="trash"
              tone="quiet"
              disabled={items.length <= least}
              onClick={(event) => {
                const section = (event.currentTarget as Element).closest("section")!;
                onChange(items.filter((it) => it !== item));
                focusLater(section.querySelector<HTMLElement>(".spec-add")!);
              }}
            />
          </div>
          {children(item, n, (changes) =>
            onChange(items.map((it) => it === item ? { ...it, ...changes } : it)))}
        </fieldset>
      ))}
      <Button
        class="spec-add"
        icon="plus"
        onClick={(event) => {
          const section = (event.currentTarget as Element).closest("section")!;
          onAdd();
          afterDrawing(() =>
            section.querySelector<HTMLElement>("fieldset:last-of-type :is(input, textarea)")
              ?.focus()
          );
        }}
      >
        Add a {noun}
      </Button>
    </section>
  );
}

/** What is moved in the page loses the focus. */
function focusLater(element: HTMLElement): void {
  afterDrawing(() => element.focus());
}

function afterDrawing(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

interface TaskProps {
  task: TaskItem;
  id: string;
  /** All tasks of the form, and their ids. */
  tasks: readonly TaskItem[];
  ids: readonly string[];
  fault(name: string): string | undefined;
  onChange(changes: Partial<TaskItem>): void;
}

function TaskFields({ task, id, tasks, ids, fault, onChange }: TaskProps) {
  const { after } = task;
  const before = after.length === 0 ? [] : ids.filter((_, n) => after.includes(tasks[n].key));
  // With every task in every task, a large form would be slow.
  const is_open = useSignal(false);
  const dependencies = fault("dependencies");
  return (
    <>
      <Input
        label="Name"
        hint={task.name.trim() !== "" && task.name !== id ? `Its id is ${id}` : undefined}
        value={task.name}
        error={fault("id")}
        onChange={(name) => onChange({ name, id: undefined })}
      />
      <Area
        label="Instructions"
        value={task.text}
        required
        error={fault("description")}
        onChange={(text) => onChange({ text })}
      />
      {tasks.length > 1 && (
        <details
          class="spec-after"
          open={dependencies !== undefined || undefined}
          onToggle={({ currentTarget }) => is_open.value = currentTarget.open}
        >
          <summary>
            {before.length === 0 ? "Depends on no other task" : `Depends on ${before.join(", ")}`}
          </summary>
          {is_open.value && tasks.map(({ key }, n) =>
            key !== task.key && (
              <label key={key} class="check">
                <input
                  type="checkbox"
                  checked={after.includes(key)}
                  onChange={({ currentTarget }) =>
                    onChange({
                      after: currentTarget.checked
                        ? [...after, key]
                        : after.filter((it) => it !== key),
                    })}
                />
                <span>{ids[n]}</span>
              </label>
            )
          )}
        </details>
      )}
      {dependencies !== undefined && <p class="field-error" role="alert">{dependencies}</p>}
      <Area
        label="Files"
        hint="What it is about: paths in the directory, one a line."
        value={task.files}
        error={fault("files")}
        onChange={(files) => onChange({ files })}
      />
    </>
  );
}

interface CriterionProps {
  criterion: CriterionItem;
  fault(name: string): string | undefined;
  onChange(changes: Partial<CriterionItem>): void;
}

function CriterionFields({ criterion, fault, onChange }: CriterionProps) {
  const { kind, text, value, pattern } = criterion;
  return (
    <>
      <Input
        label="What must hold"
        value={text}
        error={fault("description") ?? fault("id")}
        onChange={(text) => onChange({ text, id: undefined })}
      />
      <Field label="Checked by">
        {(control) => (
          <select
            {...control}
            value={kind}
            onChange={({ currentTarget }) => onChange({ kind: currentTarget.value as Kind })}
          >
            {Object.entries(KIND_WORDS).map(([it, words]) => (
              <option key={it} value={it}>{words}</option>
            ))}
          </select>
        )}
      </Field>
      {kind !== "judged" && (
        <Input
          label={kind === "command" ? "Command" : "File"}
          code
          value={value}
          error={fault(kind) ?? fault("content_match.file")}
          onChange={(value) => onChange({ value })}
        />
      )}
      {kind === "content_match" && (
        <Input
          label="Pattern"
          hint="A regular expression."
          code
          value={pattern}
          error={fault("content_match.pattern")}
          onChange={(pattern) => onChange({ pattern })}
        />
      )}
    </>
  );
}

interface TextProps {
  label: string;
  hint?: string;
  value: string;
  error?: string;
  onChange(value: string): void;
}

/** A line that must not be empty. */
function Input({ label, hint, value, error, code, onChange }: TextProps & { code?: boolean }) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...control}
          class={code ? "mono" : undefined}
          required
          spellcheck={!code}
          autocomplete="off"
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

function Area({ label, hint, value, error, required, onChange }: TextProps & { required?: true }) {
  return (
    <Field label={label} hint={hint} error={error} optional={!required}>
      {(control) => (
        <textarea
          {...control}
          rows={required ? 3 : 1}
          class={required ? undefined : "mono"}
          required={required}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}
