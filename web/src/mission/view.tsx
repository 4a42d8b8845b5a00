import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { usd } from "../format.ts";
import { CancelMission } from "../missions/cancel.tsx";
import { StatusChip } from "../missions/status_chip.tsx";
import { Progress } from "../missions/progress.tsx";
import { useLive } from "../rpc/use_live.ts";
import type { RouteParams } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { LogView } from "../ui/log_view.tsx";
import { Page } from "../ui/page.tsx";
import { Path } from "../ui/path.tsx";
import { Pending } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { CriterionItem } from "./criterion_item.tsx";
import { Graph } from "./graph.tsx";
import { MissionLog } from "./log.ts";
import { changesOf, criteriaTarget, type Mission, stepsOf, taskTarget } from "./steps.ts";
import { Commit, TaskItem } from "./task_item.tsx";

/** What it costs, and what its checks print, is told by no event. */
const EVERY_MS = 5_000;

export default function MissionView({ params: { id } }: { params: RouteParams }) {
  const { client } = useApp();
  const log = useMemo(() => new MissionLog(client, id), [id]);
  const cancelling = useSignal(false);
  const live = useLive<Mission>({
    async ask() {
      const mission = await client.ask("mission.get", { mission_id: id });
      await log.read();
      return mission;
    },
    types: ["mission.", "descent."],
    every_ms: EVERY_MS,
  });
  const mission = live.value.value;
  useAnnounced(mission);
  if (mission === undefined) {
    return (
      <Page title="Mission">
        <Pending of={live} lines={6} label="Loading the mission">
          <a class="button" href="/missions">All missions</a>
        </Pending>
      </Page>
    );
  }
  return (
    <Page
      title={mission.name}
      class="mission"
      of={live}
      lead={<Facts mission={mission} />}
      actions={
        <>
          <a class="button" href={`/sessions/${mission.session_id}`}>Session and lanes</a>
          {mission.status === "running" && (
            <Button
              icon="stop"
              tone="danger"
              onClick={() => cancelling.value = true}
            >
              Cancel
            </Button>
          )}
        </>
      }
    >
      {mission.error !== undefined && <p class="mission-error">{mission.error}</p>}
      <Waiting mission={mission} />
      <section aria-labelledby="graph-heading">
        <h2 id="graph-heading">Tasks</h2>
        <Graph steps={stepsOf(mission)} />
      </section>
      {mission.sessions.map((session, s) => (
        <section key={session.id} aria-labelledby={`session-${s}`}>
          <h2 id={`session-${s}`}>{session.title}</h2>
          <ul class="steps" aria-label={`Tasks of ${session.title}`}>
            {session.tasks.map((task, t) => (
              <TaskItem key={task.id} task={task} target={taskTarget(s, t)} />
            ))}
          </ul>
          {session.acceptance_criteria.length > 0 && (
            <div id={criteriaTarget(s)} tabIndex={-1}>
              <h3>Done when</h3>
              <ul class="steps" aria-label={`Criteria of ${session.title}`}>
                {session.acceptance_criteria.map((criterion) => (
                  <CriterionItem key={criterion.id} mission={mission} criterion={criterion} />
                ))}
              </ul>
            </div>
          )}
        </section>
      ))}
      <section aria-labelledby="log-heading">
        <h2 id="log-heading">Log</h2>
        <LogView entries={log.entries.value} label="Log of the mission" />
      </section>
      {cancelling.value && (
        <CancelMission
          mission={mission}
          onDone={() => live.refresh()}
          onClose={() => cancelling.value = false}
        />
      )}
    </Page>
  );
}

/** Approvals that the mission waits for are decided in its session and in those that work for it. */
function Waiting({ mission: { mission_id, session_id } }: { mission: Mission }) {
  const { sessions } = useApp();
  const waiting = (sessions.items.value ?? []).filter((
    { id, works_for, pending_approvals_count },
  ) => pending_approvals_count > 0 && (id === session_id || works_for === mission_id));
  if (waiting.length === 0) return null;
  return (
    <p class="mission-waits" role="status">
      It waits for your approval:{" "}
      {waiting.map(({ id, title }) => <a key={id} href={`/sessions/${id}`}>{title}</a>)}
    </p>
  );
}

function Facts({ mission }: { mission: Mission }) {
  const { status, workdir, cost_usd, budget_usd, created_at, completed_at, commit, branch } =
    mission;
  return (
    <p class="facts">
      <StatusChip status={status} />
      <Progress what="tasks" done={mission.tasks_completed} all={mission.tasks_total} />
      <Progress what="criteria" done={mission.criteria_passed} all={mission.criteria_total} />
      <Path path={workdir} />
      <span>{usd(cost_usd)}{budget_usd !== undefined && ` of ${usd(budget_usd)}`}</span>
      <span>
        started <Ago at={created_at} />
      </span>
      {completed_at !== undefined && (
        <span>
          ended <Ago at={completed_at} />
        </span>
      )}
      {commit !== undefined && <Commit hash={commit} />}
      {commit === undefined && branch !== undefined && (
        <span class="clip" title={branch}>
          branch <code>{branch}</code>
        </span>
      )}
    </p>
  );
}

/** Says what has ended since it was drawn last. */
function useAnnounced(mission: Mission | undefined): void {
  const { announcer } = useApp();
  const before = useRef(mission);
  useEffect(() => {
    const changes = before.current && mission ? changesOf(before.current, mission) : [];
    before.current = mission;
    if (changes.length > 0) announcer.say(changes.join(", "));
  }, [mission]);
}
