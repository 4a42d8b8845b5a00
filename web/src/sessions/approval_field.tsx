import type { Signal } from "@preact/signals";
import { Field } from "../ui/field.tsx";
import { type Approval, APPROVALS } from "./approval.ts";

/** Chooses what a session does without asking. */
export function ApprovalField({ value }: { value: Signal<Approval> }) {
  return (
    <Field label="Approvals">
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ currentTarget }) => value.value = currentTarget.value as Approval}
        >
          {Object.entries(APPROVALS).map(([it, text]) => <option key={it} value={it}>{text}
          </option>)}
        </select>
      )}
    </Field>
  );
}
