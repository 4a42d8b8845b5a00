import type { RouteParams } from "../router.ts";
import { findLane } from "../../../src/session/state_steps.ts";
import { Chip } from "../ui/chip.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Failed, Loading } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { useAtEnd } from "../ui/use_at_end.ts";
import { LaneActions } from "./lanes_panel.tsx";
import type { SessionStore } from "./store.ts";
import { useSessionStore } from "./use_store.ts";

export default function LaneView({ params: { id, lane_id } }: { params: RouteParams }) {
  const store = useSessionStore(id);
  const lane = findLane(store.state, lane_id);
  const back = <a class="button" href={`/sessions/${id}`}>Go to the session</a>;
  if (store.error.value !== undefined) {
    return (
      <Page title="Lane" actions={back}>
        <Failed message={store.error.value} onRetry={() => store.open()} />
      </Page>
    );
  }
  if (!store.loaded.value) {
    return (
      <Page title="Lane">
        <Loading label="Loading the lane" />
      </Page>
    );
  }
  if (lane === undefined) {
    return (
      <Page title="Lane" actions={back}>
        <Empty icon="lanes" title="Lane not found">
          <p>Old lanes are no longer listed unless they are pinned.</p>
        </Empty>
      </Page>
    );
  }
  const { label, status, kind, started_at } = lane;
  return (
    <Page
      title={label}
      fill
      lead={
        <p class="facts">
          <Chip tone={status}>{status}</Chip>
          <span>{kind}</span>
          <span>
            started <Ago at={started_at} />
          </span>
        </p>
      }
      actions={
        <>
          {kind !== "main" && <LaneActions lane={lane} store={store} />}
          {back}
        </>
      }
    >
      <LaneOutput store={store} lane_id={lane_id} />
    </Page>
  );
}

/** The last of what a lane said; it stays at the end unless the person scrolled away from it. */
function LaneOutput({ store, lane_id }: { store: SessionStore; lane_id: string }) {
  const text = outputOf(store, lane_id);
  const at_end = useAtEnd<HTMLPreElement>(text);
  if (text === "") return <Empty icon="lanes" title="No output yet" />;
  return (
    <pre {...at_end} class="lane-output" tabIndex={0} role="group" aria-label="Output">{text}</pre>
  );
}

function outputOf({ conversation, state }: SessionStore, lane_id: string): string {
  if (findLane(state, lane_id)?.kind === "main") {
    return conversation.items.flatMap((it) => it.kind === "text" ? [it.text] : []).join("");
  }
  const call = conversation.items.find((it) => it.kind === "tool" && it.lane_id === lane_id);
  const live = conversation.lane_output.get(lane_id);
  return live ?? (call?.kind === "tool" ? call.outcome?.output : undefined) ?? "";
}
