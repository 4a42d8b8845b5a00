import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { exactLine } from "../../../src/base/visible.ts";
import { useApp } from "../app.ts";
import type { SessionItem } from "../sessions/list.ts";
import { Page } from "../ui/page.tsx";
import { Empty, Failed, Loading, Pending } from "../ui/states.tsx";
import { AskedList } from "./approval_parts.tsx";
import { Approvals } from "./approvals.tsx";
import { useSessionStore } from "./use_store.ts";

/** The questions of all sessions, each answered here: one session is open. */
export default function Questions() {
  const { sessions } = useApp();
  const chosen = useSignal("");
  const items = sessions.items.value?.filter((it) => it.pending_approvals_count > 0);
  const open = items?.find(({ id }) => id === chosen.value) ?? items?.[0];
  // Another session that comes first in the list takes no answer that was meant for this one.
  useEffect(() => {
    chosen.value = open?.id ?? "";
  }, [open?.id]);
  return (
    <Page title="Questions" of={sessions.live} fill class="questions">
      {items === undefined
        ? <Pending of={sessions.live} label="Loading the questions" />
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
              items={items.map(({ id, title, pending_approvals_count: number }) => ({
                id,
                number,
                text: exactLine(title),
              }))}
              open={open.id}
              onOpen={(id) => chosen.value = id}
            />
            <Asked key={open.id} item={open} />
          </>
        )}
    </Page>
  );
}

function Asked({ item: { id, title } }: { item: SessionItem }) {
  const store = useSessionStore(id);
  return (
    <>
      <p>
        <a href={`/sessions/${id}`} dir="auto">{title}</a>
      </p>
      {store.error.value !== undefined
        ? <Failed message={store.error.value} onRetry={() => store.open()} />
        : store.loaded.value
        ? <Approvals store={store} onNone={() => document.querySelector("h1")?.focus()} />
        : <Loading />}
    </>
  );
}
