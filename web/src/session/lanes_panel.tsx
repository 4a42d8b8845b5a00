import { useApp } from "../app.ts";
import { count, usd } from "../format.ts";
import type { Lane } from "../../../src/session/session_state.ts";
import { laneEnded } from "../../../src/session/state_steps.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { Ago } from "../ui/time.tsx";
import type { SessionStore } from "./store.ts";

/** The lanes of a session: pinned ones first, then what runs, then what has ended. */
export function LanesPanel({ store }: { store: SessionStore }) {
  const lanes = store.state.lanes.toSorted((a, b) => rank(a) - rank(b));
  return (
    <section class="lanes" aria-labelledby="lanes-heading">
      <h2 id="lanes-heading">Lanes</h2>
      <ul>
        {lanes.map((lane) => <LaneTile key={lane.lane_id} lane={lane} store={store} />)}
      </ul>
      {lanes.length < 2 && (
        <p class="lanes-none">
          Subagents get a lane, and so do tool calls that run for more than two seconds.
        </p>
      )}
    </section>
  );
}

function rank(lane: Lane): number {
  if (lane.kind === "main") return 0;
  if (lane.pinned) return 1;
  return laneEnded(lane) ? 3 : 2;
}

function LaneTile({ lane, store }: { lane: Lane; store: SessionStore }) {
  const { lane_id, kind, label, status, started_at, cost_usd, tokens, pinned } = lane;
  return (
    <li class={`lane ${kind}`}>
      <a class="lane-label" href={`/sessions/${store.id}/lanes/${lane_id}`}>{label}</a>
      <p class="lane-facts">
        <Chip tone={status}>{status}</Chip>
        <span>{kind}</span>
        <span>
          <Ago at={started_at} />
        </span>
        {tokens !== undefined && <span>{count(tokens)} tokens</span>}
        {cost_usd > 0 && <span>{usd(cost_usd)}</span>}
      </p>
      {kind !== "main" && <LaneActions lane={lane} store={store} key={`${status}${pinned}`} />}
    </li>
  );
}

/** What can be done to a lane other than the main one. */
export function LaneActions({ lane, store }: { lane: Lane; store: SessionStore }) {
  const { client } = useApp();
  const { lane_id, label, pinned } = lane;
  const session_id = store.id;
  const about = `lane ${label}`;
  return (
    <div class="lane-actions">
      <Button
        label={`${pinned ? "Unpin" : "Pin"} ${about}`}
        icon="pin"
        tone="quiet"
        aria-pressed={pinned}
        onClick={() => client.call("lanes.pin", { session_id, lane_id, pinned: !pinned })}
      />
      {!laneEnded(lane) && (
        <Button
          label={`Kill ${about}`}
          icon="stop"
          tone="quiet"
          onClick={() => client.call("lanes.kill", { session_id, lane_id })}
        />
      )}
    </div>
  );
}
