import type { ComponentChildren } from "preact";
import { useId } from "./use_id.ts";

interface FieldProps {
  label: string;
  /** What is expected, or what it does. */
  hint?: string;
  optional?: boolean;
  /** Why the value will not do. */
  error?: string;
  /** Gets what ties the control to its label, hint and error. */
  children(control: {
    id: string;
    "aria-describedby"?: string;
    "aria-invalid"?: boolean;
  }): ComponentChildren;
}

/** A control with its label, and what is said about it. */
export function Field({ label, hint, optional, error, children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>
        {label}
        {optional && <span class="optional">optional</span>}
      </label>
      {children({
        id,
        "aria-describedby": described || undefined,
        "aria-invalid": error !== undefined || undefined,
      })}
      {hint && <p id={`${id}-hint`} class="field-hint">{hint}</p>}
      {error && <p id={`${id}-error`} class="field-error" role="alert">{error}</p>}
    </div>
  );
}
