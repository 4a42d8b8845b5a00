/** Dashes of the lines: they tell them apart where colours do not. */
export const DASHES: readonly number[][] = [
  [],
  [8, 4],
  [2, 3],
  [10, 3, 2, 3],
  [5, 5],
  [14, 4],
];

/** Lines that are drawn, at most. */
export const LINES_MAX = DASHES.length;

/** How a line looks, beside its name. */
export function LineSample({ n }: { n: number }) {
  return (
    <svg class={`line-sample plot-${n + 1}`} viewBox="0 0 32 8" aria-hidden="true">
      <line x1="0" y1="4" x2="32" y2="4" stroke-dasharray={DASHES[n].join(" ")} />
    </svg>
  );
}
