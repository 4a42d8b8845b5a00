import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { STATUS, STATUSES } from "./task.ts";

interface QueueBarProps {
  status: Result<"queue.status">;
  onChanged(): Promise<void>;
}

/** The queue at a glance: what it has, how many work on it, and its switches. */
export function QueueBar({ status, onChanged }: QueueBarProps) {
  const { client, announcer } = useApp();
  const { paused, workers, busy } = status;
  const setWorkers = async (count: number) => {
    await client.call("queue.workers", { count });
    await onChanged();
    announcer.say(count === 1 ? "1 worker" : `${count} workers`);
  };
  const pauseOrResume = async () => {
    await client.call(paused ? "queue.resume" : "queue.pause", {});
    await onChanged();
    announcer.say(paused ? "Queue resumed" : "Queue paused");
  };
  return (
    <section class="queue-bar" aria-label="Queue">
      <dl class="figures">
        {STATUSES.map((it) => (
          <div key={it}>
            <dt>{STATUS[it].word}</dt>
            <dd>{status[it]}</dd>
          </div>
        ))}
        <div>
          <dt>Workers busy</dt>
          <dd>{busy} of {workers}</dd>
        </div>
      </dl>
      <div class="queue-switches">
        <span aria-hidden="true">Workers</span>
        <Button
          label="Remove a worker"
          icon="minus"
          disabled={workers === 0}
          onClick={() => setWorkers(workers - 1)}
        />
        <Button
          label="Add a worker"
          icon="plus"
          disabled={workers >= WORKERS_MAX}
          onClick={() => setWorkers(workers + 1)}
        />
        <Button icon={paused ? "play" : "pause"} onClick={pauseOrResume}>
          {paused ? "Resume queue" : "Pause queue"}
        </Button>
      </div>
      {paused && <p class="hint">The queue is paused; no new tasks are started.</p>}
    </section>
  );
}

/** As many as queue.workers takes. */
const WORKERS_MAX = 64;
