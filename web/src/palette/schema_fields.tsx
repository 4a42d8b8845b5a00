import type { Signal } from "@preact/signals";
import { SchemaField } from "./schema_field.tsx";
import type { FormField } from "./schema_form.ts";

interface SchemaFieldsProps {
  fields: readonly FormField[];
  /** What was typed, by the field's name. */
  values: Signal<Record<string, string>>;
}

/** The controls of a form that is made from a schema. */
export function SchemaFields({ fields, values }: SchemaFieldsProps) {
  return (
    <>
      {fields.map((field) => (
        <SchemaField
          key={field.name}
          field={field}
          value={values.value[field.name] ?? ""}
          onChange={(value) => values.value = { ...values.value, [field.name]: value }}
        />
      ))}
    </>
  );
}
