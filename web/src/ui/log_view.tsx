import { Empty } from "./states.tsx";
import { useAtEnd } from "./use_at_end.ts";

/** A line of a log. */
interface LogEntry {
  seq: number;
  at: string;
  event: string;
  /** What of it the line is about. */
  task_id?: string;
  ac_id?: string;
  detail?: string;
}

interface LogProps {
  entries: readonly LogEntry[];
  label: string;
}

/** A log; it stays at the end unless the person scrolled away from it. */
export function LogView({ entries, label }: LogProps) {
  const at_end = useAtEnd<HTMLDivElement>(entries);
  if (entries.length === 0) return <Empty icon="missions" title="Nothing has been written yet" />;
  return (
    <div {...at_end} class="log" role="log" aria-live="off" aria-label={label} tabIndex={0}>
      {entries.map((entry) => <Line key={entry.seq} entry={entry} />)}
    </div>
  );
}

function Line({ entry: { at, task_id, ac_id, event, detail = "" } }: { entry: LogEntry }) {
  const about = task_id ?? ac_id;
  const text = detail.trimEnd();
  const many = text.includes("\n");
  return (
    <div class="log-line">
      <time dateTime={at}>{new Date(at).toLocaleTimeString()}</time>
      <span class="log-about clip">{about}</span>
      <span class="log-event">{event.replaceAll("_", " ")}</span>
      {many
        ? (
          <details>
            <summary class="clip">{text.slice(0, text.indexOf("\n"))} …</summary>
            <pre>{text}</pre>
          </details>
        )
        : <span class="log-text">{text}</span>}
    </div>
  );
}
