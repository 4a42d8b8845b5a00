import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/choice.tsx";
import { ListTable } from "../ui/list_table.tsx";
import { Page } from "../ui/page.tsx";
import { ShowOlder } from "../ui/show_older.tsx";
import { Empty, Pending } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { useKept } from "../ui/use_kept.ts";
import { CancelTask } from "./cancel.tsx";
import { CreateTask } from "./create.tsx";
import { QueueBar } from "./queue_bar.tsx";
import { hasEnded, nameOf, STATUS, STATUSES, type Task, type TaskStatus } from "./task.ts";
import { TaskChip } from "./task_chip.tsx";

interface Found {
  status: Result<"queue.status">;
  page: Result<"task.list">;
}

const STATUS_OPTIONS: [TaskStatus | "", string][] = [
  ["", "All"],
  ...STATUSES.map((it): [TaskStatus, string] => [it, STATUS[it].word]),
];
const PAGE = 50;
const SHOWN_MAX = 1_000;
/** No event tells of the tasks; the daemon has them at hand. */
const EVERY_MS = 2_000;

export default function Tasks() {
  const { client } = useApp();
  const state = useKept<TaskStatus | "">("state", "");
  const shown = useKept<number>("shown", PAGE);
  const creating = useSignal(false);
  const cancelling = useSignal<Task | undefined>(undefined);
  const live = useLive<Found>({
    async ask() {
      const wanted = { limit: shown.peek(), state: state.peek() || undefined };
      const [status, page] = await Promise.all([
        client.ask("queue.status", {}),
        client.ask("task.list", wanted),
      ]);
      return { status, page };
    },
    every_ms: EVERY_MS,
  });
  const found = live.value.value;
  const refresh = () => live.refresh();
  return (
    <Page
      title="Tasks"
      of={live}
      actions={
        <Button tone="primary" icon="plus" onClick={() => creating.value = true}>New task</Button>
      }
    >
      {found && (
        <>
          <QueueBar status={found.status} onChanged={refresh} />
          <div class="toolbar">
            <Choice
              label="State"
              value={state}
              options={STATUS_OPTIONS}
              onChange={() => {
                shown.value = PAGE;
                refresh();
              }}
            />
          </div>
        </>
      )}
      {found === undefined
        ? <Pending of={live} lines={6} label="Loading tasks" />
        : found.page.tasks.length === 0
        ? <NoTasks filtered={state.value !== ""} onCreate={() => creating.value = true} />
        : (
          <>
            <TaskTable tasks={found.page.tasks} onCancel={(task) => cancelling.value = task} />
            {found.page.next_cursor !== undefined && shown.value < SHOWN_MAX && (
              <ShowOlder
                onClick={() => {
                  shown.value = Math.min(shown.value * 2, SHOWN_MAX);
                  return refresh();
                }}
              />
            )}
          </>
        )}
      {creating.value && <CreateTask onQueued={refresh} onClose={() => creating.value = false} />}
      {cancelling.value && (
        <CancelTask
          task={cancelling.value}
          onDone={refresh}
          onClose={() => cancelling.value = undefined}
        />
      )}
    </Page>
  );
}

function NoTasks({ filtered, onCreate }: { filtered: boolean; onCreate(): void }) {
  if (filtered) return <Empty icon="search" title="No tasks in this state" />;
  return (
    <Empty icon="tasks" title="No tasks yet">
      <p>
        A task is a piece of work with a checked result: research with sources, a look at a web
        page, a deployment, a change of code. Other agents can hire them.
      </p>
      <Button tone="primary" icon="plus" onClick={onCreate}>New task</Button>
    </Empty>
  );
}

interface TableProps {
  tasks: readonly Task[];
  onCancel(task: Task): void;
}

function TaskTable({ tasks, onCancel }: TableProps) {
  return (
    <ListTable
      class="task-table"
      caption="Tasks, newest first"
      columns={["Task", "State", "Type", "Effort", { number: "Attempts" }, { number: "Age" }]}
      actions
    >
      {tasks.map((task) => (
        <tr key={task.id}>
          <th scope="row">
            <a class="row-link" href={`/tasks/${task.id}`}>{nameOf(task)}</a>
            <span class="hint clip mono">{task.id}</span>
          </th>
          <td>
            <TaskChip task={task} />
          </td>
          <td class="type-cell">
            {task.task_type}
            {task.hired && <span class="badge" title="Requested by another agent">hired</span>}
          </td>
          <td class="effort-cell">{task.effort}</td>
          <td class="number attempts-cell">{task.attempts}</td>
          <td class="number time-cell">
            <Ago at={task.created_at} />
          </td>
          <td class="action-cell">
            {!hasEnded(task) && (
              <Button
                label={`Cancel ${nameOf(task)}`}
                icon="stop"
                tone="quiet"
                onClick={() => onCancel(task)}
              />
            )}
          </td>
        </tr>
      ))}
    </ListTable>
  );
}
