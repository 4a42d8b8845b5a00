interface ProgressProps {
  /** What is counted. */
  what: string;
  done: number;
  all: number;
}

/** How much of something is done: a bar and its figures. */
export function Progress({ what, done, all }: ProgressProps) {
  if (all === 0) return null;
  return (
    <span class="progress">
      <span class="progress-bar" aria-hidden="true">
        <span style={{ inlineSize: `${100 * done / all}%` }} />
      </span>
      <span>{done}/{all} {what}</span>
    </span>
  );
}
