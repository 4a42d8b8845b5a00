import { shownTitle } from "../../../src/session/titles.ts";
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import type { RouteParams } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { isLetter, keyOf } from "../ui/keys.ts";
import { Page } from "../ui/page.tsx";
import { Failed, Loading } from "../ui/states.tsx";
import { Late } from "./approval_parts.tsx";
import { Approvals } from "./approvals.tsx";
import { BackgroundPanel } from "./background_panel.tsx";
import { Composer } from "./composer.tsx";
import { Facts } from "./facts.tsx";
import { LanesPanel } from "./lanes_panel.tsx";
import { PlanPanel } from "./plan_panel.tsx";
import { Search } from "./search.tsx";
import { SessionMenu } from "./session_menu.tsx";
import { Transcript } from "./transcript.tsx";
import { useSessionStore } from "./use_store.ts";
import { useSwipe } from "../ui/use_swipe.ts";
import { SideButtons, type SideName, SidePanel } from "./side.tsx";

export default function SessionView({ params: { id } }: { params: RouteParams }) {
  const { announcer, router, opening, view } = useApp();
  const store = useSessionStore(id);
  const search = useMemo(() => new Search(router.kept("find"), router.kept("seq")), []);
  const lanes = useSignal(false);
  const side = useSignal<SideName | undefined>(undefined);
  const whole = useSignal(false);
  const late = useSignal("");
  /** Messages that were sent from here. */
  const sent = useSignal(0);
  useEffect(() => {
    if (opening.value !== undefined) side.value = "files";
  }, [opening.value]);
  const input = useRef<HTMLTextAreaElement>(null);
  const body = useRef<HTMLDivElement>(null);
  /** A panel that has all the room hides it. */
  const hasConversation = () =>
    body.current?.firstElementChild?.checkVisibility({ visibilityProperty: true });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const finds = keyOf(event).toLowerCase() === "f" && (event.metaKey || event.ctrlKey);
      if (!finds && !isLetter(event, "o") || !hasConversation()) return;
      if (document.querySelector("dialog[open]")) return;
      event.preventDefault();
      if (finds) search.show();
      else if (!event.repeat) fold();
    };
    const fold = () => announcer.say(`All cards are ${store.fold() ? "open" : "folded"}`);
    view.fold = fold;
    addEventListener("keydown", onKey);
    return () => {
      delete view.fold;
      removeEventListener("keydown", onKey);
    };
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
  const showSearch = () => {
    if (!hasConversation()) side.value = undefined;
    search.show();
  };
  const with_lanes = lanes.value && !side.value;
  const toggleLanes = () => {
    lanes.value = !with_lanes;
    side.value = undefined;
  };
  return (
    <Page
      title={shownTitle(store.state) || "Session"}
      fill
      class="session"
      lead={<Facts store={store} />}
      actions={
        <>
          <Button
            label="Search the conversation"
            icon="search"
            tone="quiet"
            onClick={showSearch}
          />
          <SideButtons side={side} />
          <Button
            icon="lanes"
            aria-expanded={with_lanes}
            onClick={toggleLanes}
          >
            Lanes
          </Button>
          <SessionMenu
            store={store}
            panels={[
              { icon: "search", label: "Search the conversation", open: showSearch },
              { icon: "changes", label: "Changes", open: () => side.value = "changes" },
              { icon: "folder", label: "Files", open: () => side.value = "files" },
              { icon: "lanes", label: "Lanes", open: toggleLanes },
            ]}
          />
        </>
      }
    >
      <div
        ref={body}
        class={[
          "session-body",
          with_lanes && "with-lanes",
          side.value && "with-side",
          side.value && whole.value && "whole",
        ].filter(Boolean).join(" ")}
      >
        <SwipeBack area={body} />
        <div class="session-main">
          <Transcript store={store} search={search} sent={sent.value} />
          <PlanPanel store={store} />
          <BackgroundPanel store={store} />
          <Late text={late} />
          <Approvals store={store} late={late} onNone={() => input.current?.focus()} />
          <Composer store={store} input={input} onSent={() => sent.value++} />
        </div>
        {with_lanes && <LanesPanel store={store} />}
        {side.value && <SidePanel side={side} store={store} whole={whole} />}
      </div>
    </Page>
  );
}

/** As near to the left edge a finger begins to go back, in CSS pixels. */
const EDGE_PX = 24;

/** A swipe from the left edge goes to the list of sessions. */
function SwipeBack({ area }: { area: RefObject<HTMLElement> }) {
  const { router } = useApp();
  useSwipe(area, {
    to: "right",
    begin: ({ clientX }) => clientX <= EDGE_PX ? area.current : undefined,
    done: () => router.go("/"),
  });
  return null;
}
