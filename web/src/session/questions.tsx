import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { exactLine } from "../../../src/base/visible.ts";
import { useApp } from "../app.ts";
import type { AskedItem } from "../sessions/list.ts";
import { Page } from "../ui/page.tsx";
import { Empty, Failed, Loading, Pending } from "../ui/states.tsx";
import { AskedList, Late } from "./approval_parts.tsx";
import { Approvals } from "./approvals.tsx";
import { useSessionStore } from "./use_store.ts";

/** The questions of all sessions, each answered here: one session is open. */
export default function Questions() {
  const { asked } = useApp().sessions;
  const chosen = useSignal("");
  const late = useSignal("");
  const all = asked.value.value;
  const sessions = [...Map.groupBy(all ?? [], (it) => it.session_id).values()];
  const [open] = sessions.find(([it]) => it.session_id === chosen.value) ?? sessions[0] ?? [];
  const id = open?.session_id ?? "";
  // Another session that comes first in the list takes no answer that was meant for this one.
  useEffect(() => {
    chosen.value = id;
  }, [id]);
  return (
    <Page title="Questions" of={asked} fill class="questions">
      <Late text={late} />
      {all === undefined
        ? <Pending of={asked} label="Loading the questions" />
        : open === undefined
        ? (
          <Empty icon="bell" title="No questions">
            <p>What the agents of all sessions ask appears here.</p>
          </Empty>
        )
        : (
          <>
            <AskedList
              label="Sessions with questions"
              items={sessions.map(({ 0: { session_id, title }, length: number }) => ({
                id: session_id,
                number,
                text: exactLine(title),
              }))}
              open={id}
              onOpen={(id) => chosen.value = id}
            />
            <Asked key={id} item={open} late={late} />
          </>
        )}
    </Page>
  );
}

interface AskedProps {
  item: AskedItem;
  late: Signal<string>;
}

function Asked({ item: { session_id: id, title }, late }: AskedProps) {
  const store = useSessionStore(id);
  return (
    <>
      <p>
        <a href={`/sessions/${id}`} dir="auto">{title}</a>
      </p>
      {store.error.value !== undefined
        ? <Failed message={store.error.value} onRetry={() => store.open()} />
        : store.loaded.value
        ? (
          <Approvals
            store={store}
            late={late}
            onNone={() => document.querySelector("h1")?.focus()}
          />
        )
        : <Loading />}
    </>
  );
}
