import type { ComponentChildren } from "preact";

interface ChipProps {
  /** Its colour, as `styles/` names it. */
  tone: string;
  title?: string;
  children: ComponentChildren;
}

/** A state in a word, with a dot of its colour. */
export function Chip({ tone, title, children }: ChipProps) {
  return (
    <span class={`chip ${tone}`} title={title}>
      <span class={`dot ${tone}`} aria-hidden="true" />
      {children}
    </span>
  );
}
