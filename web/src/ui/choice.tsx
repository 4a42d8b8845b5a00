import type { Signal } from "@preact/signals";

interface ChoiceProps<T extends string> {
  label: string;
  value: Signal<T>;
  /** Each with the word for it. */
  options: Iterable<readonly [T, string]>;
  onChange?(): void;
}

/** One of a few values, in a toolbar. */
export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select
        value={value}
        onChange={({ currentTarget }) => {
          value.value = currentTarget.value as T;
          onChange?.();
        }}
      >
        {[...options].map(([it, word]) => <option key={it} value={it}>{word}</option>)}
      </select>
    </label>
  );
}
