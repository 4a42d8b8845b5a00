import type { Signal } from "@preact/signals";

interface CheckProps {
  label: string;
  value: Signal<boolean>;
  onChange?(): void;
}

/** A checkbox with its label. */
export function Check({ label, value, onChange }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value}
        onChange={({ currentTarget }) => {
          value.value = currentTarget.checked;
          onChange?.();
        }}
      />
      <span>{label}</span>
    </label>
  );
}
