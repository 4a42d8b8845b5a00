import type { DiffLine } from "./call.ts";

const SIGNS: Record<DiffLine["kind"], string> = { insert: "+", delete: "−", same: " " };
const SAID: Record<DiffLine["kind"], string> = { insert: "added", delete: "removed", same: "" };

/** The change of a file, line by line. */
export function DiffView({ lines, label }: { lines: readonly DiffLine[]; label: string }) {
  return (
    <div class="diff" role="group" aria-label={label} tabIndex={0}>
      {lines.map(({ kind, text }, n) => (
        <div key={n} class={`diff-line ${kind}`}>
          <span class="diff-sign" aria-hidden="true">{SIGNS[kind]}</span>
          {SAID[kind] && <span class="visually-hidden">{SAID[kind]}:</span>}
          <code>{text || "\u200b"}</code>
        </div>
      ))}
    </div>
  );
}
