import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useApp } from "../app.ts";
import { explain, RpcError } from "../rpc/api.ts";
import { ModelField } from "../sessions/model_field.tsx";
import { WorkdirField } from "../sessions/workdir_field.tsx";
import { Button } from "../ui/button.tsx";
import { Check } from "../ui/check.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { submitOnCtrlEnter, useSubmit } from "../ui/use_submit.ts";
import type { Client } from "../rpc/client.ts";
import {
  type DraftPlace,
  keepDraft,
  leftDraft,
  type MissionDraft,
  newDraft,
  onOtherTab,
  type OtherDrafts,
  othersOf,
  takeNext,
  takePlace,
} from "./draft.ts";
import { EXAMPLE } from "./example.ts";
import { SpecFields } from "./spec_fields.tsx";
import { formOf, type MissionForm, type Seed, specOf } from "./spec_form.ts";
import { toYaml } from "./yaml.ts";

/** By their place: of the parameters, or of the statement of work. */
type Faults = Record<string, string>;

/** Where the form has a field for what is refused. */
const SHOWN =
  /^(workdir|name|sessions\[0\]\.(tasks\[\d+\]\.(id|description|dependencies|files)|acceptance_criteria\[\d+\]\.(id|description|command|file_exists|content_match\.(file|pattern)))(\[\d+\])?)$/;

/** The statement of work, as a form or a text. */
type Written = Pick<MissionDraft, "form" | "text" | "read">;

interface CreateProps {
  /** The conversation that it is made from. */
  seed?: Seed;
  onClose(): void;
}

/** Begins a mission and opens it. */
export function CreateMission({ seed, onClose }: CreateProps) {
  const place = useSignal<DraftPlace | undefined>(undefined);
  const others = useSignal<OtherDrafts>({ open: false, left: false });
  useEffect(() => {
    let gone = false;
    const look = async (at = place.peek()) => {
      if (at === undefined) return;
      const found = await othersOf(seed, at);
      if (!gone) others.value = found;
    };
    const begin = async () => {
      const taken = await takePlace(seed);
      await look(taken);
      if (gone) taken.leave();
      else place.value = taken;
    };
    begin();
    const leave = onOtherTab(seed, () => void look());
    return () => {
      gone = true;
      leave();
      place.peek()?.leave();
    };
  }, []);
  if (place.value === undefined) return null;
  const onNext = async () => {
    const before = place.peek()!;
    const next = await takeNext(seed, before.key);
    if (next !== undefined) {
      place.value = next;
      await before.leave();
    }
    others.value = await othersOf(seed, place.peek()!);
  };
  const { key } = place.value;
  return (
    <WriteMission seed={seed} onClose={onClose} place={key} others={others.value} onNext={onNext} />
  );
}

interface WriteProps extends CreateProps {
  /** Where its draft is kept. */
  place: string;
  others: OtherDrafts;
  /** Shows the next draft that was left. */
  onNext(): Promise<void>;
}

function WriteMission({ seed, onClose, place, others, onNext }: WriteProps) {
  const app = useApp();
  const [left] = useState(() => leftDraft(seed, place) ?? newDraft(seed));
  const workdir = useSignal(left.workdir);
  const model = useSignal(left.model);
  const unattended = useSignal(left.unattended);
  const written = useSignal<Written>(left);
  const faults = useSignal<Faults>({});
  /** Why the text cannot be shown as a form. */
  const unfit = useSignal<string | undefined>(undefined);
  const begun = useSignal(false);
  const change = (changes: Partial<Written>) => {
    unfit.value = undefined;
    written.value = { ...written.peek(), ...changes };
  };
  const draftNow = (): MissionDraft => {
    const { form, text, read } = written.value;
    return {
      workdir: workdir.value,
      model: model.value,
      unattended: unattended.value,
      form,
      text,
      read,
    };
  };
  const fill = ({ form, text, read, ...rest }: MissionDraft) => {
    workdir.value = rest.workdir;
    model.value = rest.model;
    unattended.value = rest.unattended;
    faults.value = {};
    change({ form, text, read });
  };
  /** The place that the form is of: the draft of another one is filled in first. */
  const of = useRef(place);
  useSignalEffect(() => {
    const draft = draftNow();
    begun.value = JSON.stringify(draft) !== JSON.stringify(newDraft(seed));
    keepDraft(of.current, begun.peek() ? draft : undefined);
  });
  useLayoutEffect(() => {
    if (of.current === place) return;
    of.current = place;
    fill(leftDraft(seed, place) ?? newDraft(seed));
  }, [place]);
  const { form, text } = written.value;

  const { busy, submit } = useSubmit(async () => {
    faults.value = {};
    const { form, text } = written.peek();
    const started = of.current;
    try {
      const { mission_id } = await app.client.call("mission.create", {
        workdir: workdir.value.trim(),
        spec: text ?? { ...specOf(form) },
        ...(model.value.trim() && { model: model.value.trim() }),
        approval: unattended.value ? "auto" : "ask",
      });
      keepDraft(started, undefined);
      onClose();
      app.router.go(`/missions/${mission_id}`);
    } catch (error) {
      faults.value = faultsOf(error, text !== undefined);
    }
  });

  const asText = () => {
    faults.value = {};
    change({ text: textOf(written.peek()) });
  };
  const asForm = async () => {
    const { text = "", form } = written.peek();
    const found = await readForm(app.client, text, form);
    // It was written on meanwhile.
    if (written.peek().text !== text) return;
    faults.value = {};
    if (typeof found === "string") {
      unfit.value = found;
      return;
    }
    change({
      form: found,
      text: undefined,
      read: { text, spec: JSON.stringify(specOf(found)) },
    });
  };

  return (
    <Dialog title="New mission" onClose={onClose} wide kept>
      <form class="form" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        {others.open && (
          <p role="status">Another tab writes this mission too. Each draft is kept.</p>
        )}
        {others.left && (
          <p>
            Another draft was left.{" "}
            <Button tone="quiet" onClick={onNext}>Show the other one</Button>
          </p>
        )}
        <WorkdirField
          value={workdir}
          hint="In a git repository, tasks run in parallel, and the result is merged into its branch."
          error={faults.value.workdir}
        />
        <div class="spec-ways">
          <Button onClick={text === undefined ? asText : asForm}>
            {text === undefined ? "As text" : "As a form"}
          </Button>
          {begun.value
            ? (
              <Button
                tone="quiet"
                onClick={() => fill(newDraft(seed))}
              >
                Start over
              </Button>
            )
            : (
              <Button
                tone="quiet"
                onClick={() => change({ form: formOf(EXAMPLE) as MissionForm })}
              >
                Fill in an example
              </Button>
            )}
        </div>
        {text === undefined
          ? <SpecFields form={form} faults={faults.value} onChange={(form) => change({ form })} />
          : (
            <Field
              label="Statement of work"
              hint="YAML or JSON. A criterion is checked with a command, a file that must exist or a pattern in a file; without these, a model judges its description."
              error={faults.value.spec ?? unfit.value}
            >
              {(control) => (
                <textarea
                  {...control}
                  class="mono spec"
                  required
                  rows={16}
                  spellcheck={false}
                  value={text}
                  onInput={({ currentTarget }) => change({ text: currentTarget.value })}
                />
              )}
            </Field>
          )}
        <ModelField value={model} />
        <Check
          label="Allow writing files, running commands and changing checks without asking"
          value={unattended}
        />
        {faults.value.form && <p class="form-error" role="alert">{faults.value.form}</p>}
        <footer class="dialog-foot">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" tone="primary" aria-busy={busy.value}>Start mission</Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** A form as a text: the one that it was read from, if it still says the same. */
function textOf({ form, read }: Written): string {
  const spec = specOf(form);
  if (read === undefined) return toYaml(spec);
  if (read.spec === JSON.stringify(spec)) return read.text;
  return read.text.trimStart().startsWith("{") ? JSON.stringify(spec, null, 2) : toYaml(spec);
}

/** A text as a form, or why the form cannot show it. */
async function readForm(
  client: Client,
  text: string,
  before: MissionForm,
): Promise<MissionForm | string> {
  const { spec, text_only, issues } = await client.ask("mission.read_spec", { spec: text });
  if (spec === undefined) return `The text cannot be read: ${issues[0]?.message}`;
  const found = text_only.length > 0
    ? `the form cannot show ${text_only.join(" and ")}`
    : formOf(spec, before);
  return typeof found === "string" ? `It stays a text: ${found}.` : found;
}

/** What was refused, by its place; together as `form` where no field is for it. */
function faultsOf(error: unknown, is_text: boolean): Faults {
  const issues = error instanceof RpcError ? error.issues ?? [] : [];
  if (issues.length === 0) return { form: explain(error) };
  const faults: Faults = {};
  for (const { path, message } of issues) {
    // The path of what is wrong in a spec is a text.
    const of_spec = typeof path === "string";
    const place = of_spec ? path : path.join(".");
    const in_text = is_text && (of_spec || place === "spec");
    const field = in_text ? "spec" : SHOWN.test(place) ? place : "form";
    const said = place === "" || place === "spec" || field === place
      ? message
      : `${place}: ${message}`;
    faults[field] = faults[field] === undefined ? said : `${faults[field]}\n${said}`;
  }
  return faults;
}
