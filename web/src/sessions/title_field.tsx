import type { Signal } from "@preact/signals";
import { Field } from "../ui/field.tsx";

interface TitleFieldProps {
  value: Signal<string>;
  optional?: boolean;
}

/** Takes the title of a session. */
export function TitleField({ value, optional }: TitleFieldProps) {
  return (
    <Field label="Title" optional={optional}>
      {(control) => (
        <input
          {...control}
          maxLength={200}
          dir="auto"
          value={value}
          onInput={({ currentTarget }) => value.value = currentTarget.value}
        />
      )}
    </Field>
  );
}
