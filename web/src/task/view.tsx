import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { useApp } from "../app.ts";
import { bytes, duration } from "../format.ts";
import type { RouteParams } from "../router.ts";
import { useLive } from "../rpc/use_live.ts";
import { CancelTask } from "../tasks/cancel.tsx";
import { hasEnded, nameOf, STATUS, type Task } from "../tasks/task.ts";
import { TaskChip } from "../tasks/task_chip.tsx";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { LogView } from "../ui/log_view.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { Page } from "../ui/page.tsx";
import { Pending } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { ArtifactItem } from "./artifact.tsx";
import { TaskLog } from "./log.ts";

/** Steps are pushed; this is for a connection that was away. */
const EVERY_MS = 10_000;

export default function TaskView({ params: { id } }: { params: RouteParams }) {
  const { client } = useApp();
  const cancelling = useSignal(false);
  const live = useLive<Task>({
    ask: () => client.ask("task.get", { task_id: id }),
    every_ms: EVERY_MS,
  });
  const [log] = useState(() => new TaskLog(client, id, () => live.refresh()));
  useEffect(() => log.start(), [log]);
  const task = live.value.value;
  useEndAnnounced(task);
  const back = <a class="button" href="/tasks">All tasks</a>;
  if (task === undefined) {
    return (
      <Page title="Task" actions={back}>
        <Pending of={live} label="Loading the task" />
      </Page>
    );
  }
  const { error, summary, verification = [], artifacts = [] } = task;
  return (
    <Page
      title={nameOf(task)}
      class="task"
      of={live}
      lead={<Facts task={task} />}
      actions={
        <>
          {!hasEnded(task) && (
            <Button
              icon="stop"
              tone="danger"
              onClick={() => cancelling.value = true}
            >
              Cancel task
            </Button>
          )}
          {back}
        </>
      }
    >
      {error !== undefined && <p class="form-error task-error">{error}</p>}
      {summary !== undefined && (
        <section class="panel" aria-labelledby="summary-heading">
          <h2 id="summary-heading">Summary</h2>
          <Markdown text={summary} />
        </section>
      )}
      {verification.length > 0 && (
        <section class="panel" aria-labelledby="verification-heading">
          <h2 id="verification-heading">Verification</h2>
          <ul class="criteria">
            {verification.map(({ criterion, passed, evidence }, n) => (
              <li key={n}>
                <Chip tone={passed ? "done" : "errored"}>{passed ? "Passed" : "Failed"}</Chip>
                <div>
                  <p>{criterion}</p>
                  <p class="hint">{evidence}</p>
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
      {artifacts.length > 0 && (
        <section class="panel" aria-labelledby="artifacts-heading">
          <h2 id="artifacts-heading">Artifacts</h2>
          <ul class="artifacts">
            {artifacts.map((artifact) => (
              <ArtifactItem key={artifact.name} task_id={id} artifact={artifact} />
            ))}
          </ul>
        </section>
      )}
      <section class="panel" aria-labelledby="log-heading">
        <h2 id="log-heading">Log</h2>
        <LogView entries={log.entries.value} label="Log of the task" />
      </section>
      {cancelling.value && (
        <CancelTask
          task={task}
          onDone={() => live.refresh()}
          onClose={() => cancelling.value = false}
        />
      )}
    </Page>
  );
}

function Facts({ task }: { task: Task }) {
  const { task_type, effort, hired, attempts, created_at, started_at, completed_at, size } = task;
  return (
    <p class="facts">
      <TaskChip task={task} />
      <span>{task_type}</span>
      {effort && <span>{effort}</span>}
      {hired && <span>hired by another agent</span>}
      <span>
        asked for <Ago at={created_at} />
      </span>
      {attempts > 1 && <span>attempt {attempts}</span>}
      {started_at !== undefined && completed_at !== undefined && (
        <span>took {duration(Date.parse(completed_at) - Date.parse(started_at))}</span>
      )}
      {size !== undefined && <span>{bytes(size)}</span>}
    </p>
  );
}

/** Says that a task has ended which was seen before its end. */
function useEndAnnounced(task: Task | undefined): void {
  const { announcer } = useApp();
  const before = useRef<Task | undefined>(undefined);
  useEffect(() => {
    if (task && before.current && hasEnded(task) && !hasEnded(before.current)) {
      announcer.say(`The task: ${STATUS[task.cancelled ? "cancelled" : task.status].word}`);
    }
    before.current = task;
  }, [task]);
}
