import { useApp } from "../app.ts";
import { Field } from "../ui/field.tsx";
import { type FieldKind, type FormField, wordsOf } from "./schema_form.ts";

const PLACEHOLDERS: Partial<Record<FieldKind, string>> = { json: "JSON", lines: "One a line" };

interface SchemaFieldProps {
  field: FormField;
  value: string;
  onChange(value: string): void;
}

/** The control for a field of a form that is made from a schema. */
export function SchemaField({ field, value, onChange }: SchemaFieldProps) {
  const { sessions } = useApp();
  const { name, kind, required, description, choices, secret } = field;
  const fallback = field.default === undefined ? "" : String(field.default);
  return (
    <Field label={wordsOf(name)} hint={description} optional={!required}>
      {(control) => {
        const common = {
          ...control,
          required,
          value,
          onInput: (
            event: { currentTarget: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement },
          ) => onChange(event.currentTarget.value),
        };
        if (kind === "choice" || kind === "flag") {
          return (
            <select {...common}>
              <option value="">{fallback === "" ? "" : `${fallback} (default)`}</option>
              {(kind === "flag" ? ["true", "false"] : choices).map((it) => (
                <option key={it} value={it}>{it}</option>
              ))}
            </select>
          );
        }
        if (kind === "json" || kind === "lines" || name === "text" || name === "prompt") {
          return (
            <textarea
              {...common}
              class={kind === "json" ? "mono" : ""}
              rows={kind === "lines" ? 2 : 3}
              placeholder={PLACEHOLDERS[kind] ?? ""}
            />
          );
        }
        return (
          <>
            <input
              {...common}
              type={secret ? "password" : "text"}
              class="mono"
              inputMode={kind === "number" ? "decimal" : undefined}
              placeholder={fallback}
              spellcheck={false}
              autocomplete="off"
              list={name === "session_id" ? "session-ids" : undefined}
            />
            {name === "session_id" && (
              <datalist id="session-ids">
                {(sessions.items.value ?? []).map(({ id, title }) => (
                  <option key={id} value={id}>{title}</option>
                ))}
              </datalist>
            )}
          </>
        );
      }}
    </Field>
  );
}
