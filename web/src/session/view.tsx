import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { contextText } from "../../../src/protocol/compacted_text.ts";
import { useApp } from "../app.ts";
import { costText, count } from "../format.ts";
import type { RouteParams } from "../router.ts";
import { StateChip } from "../sessions/state_chip.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { Path } from "../ui/path.tsx";
import { Failed, Loading } from "../ui/states.tsx";
import { Approvals } from "./approvals.tsx";
import { BackgroundPanel } from "./background_panel.tsx";
import { Composer } from "./composer.tsx";
import { LanesPanel } from "./lanes_panel.tsx";
import { PlanPanel } from "./plan_panel.tsx";
import { Search } from "./search.tsx";
import type { SessionStore } from "./store.ts";
import { Transcript } from "./transcript.tsx";
import { useSessionStore } from "./use_store.ts";
import { SideButtons, type SideName, SidePanel } from "./side.tsx";

export default function SessionView({ params: { id } }: { params: RouteParams }) {
  const store = useSessionStore(id);
  const search = useMemo(() => new Search(), []);
  const lanes = useSignal(false);
  const side = useSignal<SideName | undefined>(undefined);
  const whole = useSignal(false);
  /** Messages that were sent from here. */
  const sent = useSignal(0);
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "f" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      search.show();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  if (store.error.value !== undefined) {
    return (
      <Page title="Session">
        <Failed message={store.error.value} onRetry={() => store.open()}>
          <a class="button" href="/">All sessions</a>
        </Failed>
      </Page>
    );
  }
  if (!store.loaded.value) {
    // Without its head, which would move what is below when there is something in it.
    return (
      <div class="page fill">
        <Loading lines={6} label="Loading the conversation" />
      </div>
    );
  }
  return (
    <Page
      title={store.state.title || "Session"}
      fill
      class="session"
      lead={<Facts store={store} />}
      actions={
        <>
          <Button
            label="Search the conversation"
            icon="search"
            tone="quiet"
            onClick={() => search.show()}
          />
          <SideButtons side={side} />
          <Button
            icon="lanes"
            aria-expanded={lanes.value}
            onClick={() => lanes.value = !lanes.value}
          >
            Lanes
          </Button>
          <Life store={store} />
        </>
      }
    >
      <div
        class={[
          "session-body",
          lanes.value && "with-lanes",
          side.value && "with-side",
          side.value && whole.value && "whole",
        ].filter(Boolean).join(" ")}
      >
        <div class="session-main">
          <Transcript store={store} search={search} sent={sent.value} />
          <PlanPanel store={store} />
          <BackgroundPanel store={store} />
          <Approvals store={store} onNone={() => input.current?.focus()} />
          <Composer store={store} input={input} onSent={() => sent.value++} />
        </div>
        {lanes.value && <LanesPanel store={store} />}
        {side.value && <SidePanel side={side} store={store} whole={whole} />}
      </div>
    </Page>
  );
}

function Facts({ store }: { store: SessionStore }) {
  const { workdir, model, cost_usd, unpriced, tokens_in, tokens_out, context, turn, ...session } =
    store.state;
  if (workdir === "") return null;
  return (
    <p class="facts">
      <StateChip {...session} parked_until={turn?.parked?.until} />
      <Path path={workdir} />
      <span class="clip">{model}</span>
      <span title={`${tokens_in} tokens in, ${tokens_out} out`}>
        {costText({ cost_usd, unpriced })} · {count(tokens_in + tokens_out)} tokens
      </span>
      {context && (
        <span title={`${context.used} of ${context.limit} tokens`}>{contextText(context)}</span>
      )}
    </p>
  );
}

/** Pause, resume and kill. */
function Life({ store }: { store: SessionStore }) {
  const { client, sessions } = useApp();
  const killing = useSignal(false);
  const { state, title } = store.state;
  const session_id = store.id;
  if (state === "ended") return null;
  return (
    <>
      {state === "paused"
        ? (
          <Button icon="play" onClick={() => client.call("session.resume", { session_id })}>
            Resume
          </Button>
        )
        : (
          <Button icon="pause" onClick={() => client.call("session.pause", { session_id })}>
            Pause
          </Button>
        )}
      <Button icon="trash" tone="danger" onClick={() => killing.value = true}>Kill</Button>
      {killing.value && (
        <ConfirmDialog
          title="Kill this session?"
          text={`“${title}” will end permanently. Running work is stopped, and you cannot send more messages. Its history is kept.`}
          action="Kill session"
          onConfirm={async () => {
            await client.call("session.kill", { session_id });
            await sessions.refresh();
          }}
          onClose={() => killing.value = false}
        />
      )}
    </>
  );
}
