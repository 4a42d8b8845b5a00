/** The list that a box of text offers: its active entry moves by the keys of the box. */
import { visibleLine } from "../../../src/base/visible.ts";

/** An entry. */
export interface Option {
  label: string;
  /** Beside the label. */
  hint?: string;
  /** One line on what it is. */
  detail?: string;
}

/** Entries that are shown at once; the others come with the active one. */
const SHOWN = 8;

interface OptionListProps<T extends Option> {
  id: string;
  label: string;
  options: readonly T[];
  /** Index of the active one. */
  at: number;
  onAt(at: number): void;
  onPick(option: T): void;
}

/** The id of an entry, for `aria-activedescendant`. */
export function optionId(id: string, at: number): string {
  return `${id}-${at}`;
}

/** Returns the index that a key moves to, round at the ends; undefined for other keys. */
export function moved(key: string, at: number, count: number): number | undefined {
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at - 1 + count) % count;
  if (key === "PageDown") return Math.min(at + SHOWN, count - 1);
  if (key === "PageUp") return Math.max(at - SHOWN, 0);
  return undefined;
}

export function OptionList<T extends Option>(
  { id, label, options, at, onAt, onPick }: OptionListProps<T>,
) {
  const from = Math.max(0, Math.min(at - SHOWN + 2, options.length - SHOWN));
  return (
    <ul
      id={id}
      class="options"
      role="listbox"
      aria-label={label}
      onWheel={({ deltaY }) =>
        onAt(Math.max(0, Math.min(options.length - 1, at + Math.sign(deltaY))))}
    >
      {options.slice(from, from + SHOWN).map((option, n) => (
        <li
          key={from + n}
          id={optionId(id, from + n)}
          role="option"
          aria-selected={from + n === at}
          aria-posinset={from + n + 1}
          aria-setsize={options.length}
          // The box keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onPick(option)}
        >
          <span class="option-label clip" dir="auto">{visibleLine(option.label)}</span>
          {option.hint && <span class="option-hint clip">{visibleLine(option.hint)}</span>}
          {option.detail && <span class="option-detail clip">{visibleLine(option.detail)}</span>}
        </li>
      ))}
    </ul>
  );
}
