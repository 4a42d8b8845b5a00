import { StatusChip } from "../missions/status_chip.tsx";
import { Ago } from "../ui/time.tsx";
import type { Task } from "./steps.ts";

/** A task: what it is to do, how it stands, where it is worked on. */
export function TaskItem({ task, target }: { task: Task; target: string }) {
  const { id, description, dependencies, files, status, attempts, session_id, commit } = task;
  const at = task.completed_at ?? task.started_at;
  return (
    <li id={target} class="step" tabIndex={-1}>
      <header>
        <strong>{id}</strong>
        <StatusChip status={status} />
        {session_id !== undefined && (
          <a href={`/sessions/${session_id}`} aria-label={`Session of task ${id}`}>Session</a>
        )}
      </header>
      <p class="step-text">{description}</p>
      {task.error !== undefined && <p class="step-error">{task.error}</p>}
      <p class="facts">
        {dependencies.length > 0 && <span>after {dependencies.join(", ")}</span>}
        {files.length > 0 && <code>{files.join(", ")}</code>}
        {attempts > 1 && <span>attempt {attempts}</span>}
        {commit !== undefined && <Commit hash={commit} />}
        {at !== undefined && <Ago at={at} />}
      </p>
    </li>
  );
}

const HASH_SHOWN = 10;

/** A commit by the beginning of its hash. */
export function Commit({ hash }: { hash: string }) {
  return (
    <span title={hash}>
      commit <code>{hash.slice(0, HASH_SHOWN)}</code>
    </span>
  );
}
