import type { Signal } from "@preact/signals";
import { Field } from "../ui/field.tsx";

interface TitleFieldProps {
  value: Signal<string>;
  /** A dialog begins with it. */
  focused?: boolean;
}

/** Takes the title of a session. */
export function TitleField({ value, focused }: TitleFieldProps) {
  return (
    <Field label="Title">
      {(control) => (
        <input
          {...control}
          data-focus={focused}
          maxLength={200}
          dir="auto"
          value={value}
          onInput={({ currentTarget }) => value.value = currentTarget.value}
        />
      )}
    </Field>
  );
}
