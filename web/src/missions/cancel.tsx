import { useApp } from "../app.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";

/** It answers when nothing of the mission runs any more: what its tasks run gets time to end. */
const CANCEL_DEADLINE_MS = 5 * 60_000;

interface CancelProps {
  mission: { mission_id: string; name: string };
  onDone(): Promise<unknown>;
  onClose(): void;
}

/** Asks, and cancels a mission. */
export function CancelMission({ mission: { mission_id, name }, onDone, onClose }: CancelProps) {
  const { client, announcer } = useApp();
  return (
    <ConfirmDialog
      title="Cancel this mission?"
      text={`“${name}” will be stopped permanently. In a git repository, its work so far stays on a separate branch; otherwise, in the directory.`}
      action="Cancel mission"
      onConfirm={async () => {
        await client.call("mission.cancel", { mission_id }, { timeout_ms: CANCEL_DEADLINE_MS });
        announcer.say(`Cancelled mission ${name}`);
        await onDone();
      }}
      onClose={onClose}
    />
  );
}
