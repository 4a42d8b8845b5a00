import type { Signal } from "@preact/signals";
import { Icon } from "./icon.tsx";

interface SearchBoxProps {
  /** What is looked for and where. */
  label: string;
  value: Signal<string>;
  /** Called after each change. */
  onInput?(): void;
}

/** A text that a list is narrowed by, in a toolbar. */
export function SearchBox({ label, value, onInput }: SearchBoxProps) {
  return (
    <label class="search-box">
      <Icon name="search" />
      <span class="visually-hidden">{label}</span>
      <input
        type="search"
        dir="auto"
        placeholder={label}
        maxLength={1000}
        value={value}
        onInput={({ currentTarget }) => {
          value.value = currentTarget.value;
          onInput?.();
        }}
      />
    </label>
  );
}

/** Whether each word of a query stands in one of the texts, whatever its case. */
export function hasWords(query: string, texts: readonly string[]): boolean {
  const text = texts.join("\n").toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
