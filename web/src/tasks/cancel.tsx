import { useApp } from "../app.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { nameOf, type Task } from "./task.ts";

interface CancelProps {
  task: Task;
  onDone(): Promise<unknown>;
  onClose(): void;
}

/** Asks, and cancels a task. */
export function CancelTask({ task, onDone, onClose }: CancelProps) {
  const { client, announcer } = useApp();
  return (
    <ConfirmDialog
      title="Cancel this task?"
      text={`“${nameOf(task)}” will be stopped permanently. Artifacts made so far are kept.`}
      action="Cancel task"
      onConfirm={async () => {
        await client.call("task.cancel", { task_id: task.id });
        await onDone();
        announcer.say("Task cancelled");
      }}
      onClose={onClose}
    />
  );
}
