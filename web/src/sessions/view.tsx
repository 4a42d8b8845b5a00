import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { costText } from "../format.ts";
import { explain, type Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Check } from "../ui/check.tsx";
import { ListTable } from "../ui/list_table.tsx";
import { Page } from "../ui/page.tsx";
import { Path } from "../ui/path.tsx";
import { hasWords, SearchBox } from "../ui/search_box.tsx";
import { Empty, Failed, Pending } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { useKept } from "../ui/use_kept.ts";
import { useMore } from "../ui/use_more.ts";
import { useSwipe } from "../ui/use_swipe.ts";
import { choose, new_session } from "./new_session.ts";
import { useLoaded } from "../ui/use_loaded.ts";
import { NewSession } from "./composer.tsx";
import { firstOf, type Group, namesOf } from "./groups.ts";
import type { SessionItem } from "./list.ts";
import { SessionMenu } from "./session_menu.tsx";
import { StateChip } from "./state_chip.tsx";
import { useGroups } from "./use_groups.ts";

/** Shorter words are everywhere. */
const SEARCHED_MIN = 3;

/** Where one begins: a box for what is to be done, above the sessions that there are. */
export default function Sessions() {
  const { client, composing, sessions } = useApp();
  const compose = () => composing.value++;
  const filter = useKept("filter", "");
  const info = useSignal<Result<"daemon.info"> | undefined>(undefined);
  /** Whether a model that reasons can be used; undefined until it is known. */
  const ready = useSignal<boolean | undefined>(undefined);
  const ask = () => {
    client.ask("daemon.info", {}).then((it) => info.value = it).catch(() => {});
    client.ask("models.providers", { look: false }).then((it) => ready.value = it.ready)
      .catch(() => {});
  };
  useEffect(ask, []);
  const missing = ready.value === false && new_session.value.model === undefined;
  const items = sessions.items.value;
  const refresh = () => void sessions.refresh();
  const wanted = filter.value.trim();
  const shown = items?.filter((it) => fits(it, filter.value));
  return (
    <Page title="Sessions" of={sessions.live} class="home">
      <NewSession info={info.value} />
      {missing && (
        <section class="model-setup" aria-labelledby="model-setup">
          <h2 id="model-setup">Choose a model</h2>
          <p>No model is set up yet. One of these is enough; you can change it at any time.</p>
          <Setup
            onModel={(model) => {
              choose({ model });
              ask();
              compose();
            }}
          />
        </section>
      )}
      <div class="toolbar">
        <SearchBox label="Search sessions and what was said" value={filter} />
        <Check label="Show ended" value={sessions.with_ended} onChange={refresh} />
        <Check label="Show archived" value={sessions.with_archived} onChange={refresh} />
      </div>
      {shown === undefined
        ? <Pending of={sessions.live} lines={6} label="Loading sessions" />
        : shown.length > 0
        ? <SessionTable items={shown} />
        : wanted === "" && !missing && (
          <Empty icon="sessions" title="No sessions yet">
            <p>
              A session is an agent that works in one of your directories. Say above what it should
              do; it asks before it changes anything.
            </p>
          </Empty>
        )}
      {shown?.length === 0 && wanted !== "" && (
        <p class="none-found" role="status">No sessions match the filter.</p>
      )}
      {wanted.length >= SEARCHED_MIN && <Said query={wanted} />}
    </Page>
  );
}

const loadSetup = async () => (await import("../models/setup.tsx")).default;

function Setup(props: { onModel(model: string): void }) {
  const { Part, failure } = useLoaded(loadSetup);
  if (failure !== undefined) return <Failed message={explain(failure)} />;
  return Part ? <Part {...props} /> : null;
}

const loadSaid = async () => (await import("../on_demand.ts")).Said;

function Said({ query }: { query: string }) {
  const { Part, failure } = useLoaded(loadSaid);
  if (failure !== undefined) return <Failed message={explain(failure)} />;
  return Part ? <Part query={query} /> : null;
}

function fits({ title, workdir, model, id }: SessionItem, filter: string): boolean {
  return hasWords(filter, [title, workdir, model, id]);
}

/** Sessions that are drawn at first, and each time that the end of the list comes near. */
const STEP = 60;

function SessionTable({ items }: { items: readonly SessionItem[] }) {
  const list = useRef<HTMLDivElement>(null);
  const shown = useKept("shown", STEP);
  const end = useMore(shown, STEP);
  const groups = firstOf(useGroups(items, list), shown.value);
  const names = namesOf(groups.map(({ workdir }) => workdir));
  const left = items.length - shown.value;
  // On a phone: the menu of a row is small.
  useSwipe(list, {
    to: "left",
    begin: ({ target }) => (target as Element).closest<HTMLElement>(".session-row"),
    done: (row) => row.querySelector<HTMLElement>(".menu-button")?.click(),
  });
  // What has not changed is the same element, which is not drawn again.
  const rows = useMemo(() => new WeakMap<SessionItem, VNode>(), []);
  const row = (item: SessionItem) => {
    const drawn = rows.get(item) ?? <Row key={item.id} item={item} />;
    rows.set(item, drawn);
    return drawn;
  };
  return (
    <div ref={list}>
      <ListTable
        class="session-table"
        caption="Sessions by directory; first those that wait for you, then pinned ones, then the newest"
        columns={["Session", "State", "Model", { number: "Cost" }, { number: "Last event" }]}
        actions
        groups
      >
        {groups.map((it) => (
          <Rows
            key={it.workdir}
            group={it}
            name={names.get(it.workdir)!}
            row={row}
          />
        ))}
      </ListTable>
      {left > 0 && (
        <div ref={end} class="more">
          <Button onClick={() => shown.value += STEP}>Show more ({left} left)</Button>
        </div>
      )}
    </div>
  );
}

interface RowsProps {
  group: Group;
  /** What its directory is called. */
  name: string;
  row(item: SessionItem): VNode;
}

function Rows({ group: { workdir, items }, name, row }: RowsProps) {
  return (
    <tbody>
      <tr class="group-row">
        <th scope="rowgroup" colSpan={5}>
          <div>
            <b class="clip" dir="auto">{name}</b>
            <Path path={workdir} />
          </div>
        </th>
      </tr>
      {items.map(row)}
    </tbody>
  );
}

function Row({ item }: { item: SessionItem }) {
  const { seen } = useApp();
  const { id, title, model, last_event_at, pending_approvals_count, pinned, archived } = item;
  const unread = seen.isUnread(item);
  return (
    <tr class={unread ? "session-row unread" : "session-row"}>
      <th scope="row">
        <div>
          <a class="row-link" href={`/sessions/${id}`} dir="auto">{title}</a>
          {unread && <span class="badge unread-badge">New</span>}
          {pinned && <span class="badge">Pinned</span>}
          {archived && <span class="badge">Archived</span>}
        </div>
      </th>
      <td class="state-cell">
        <StateChip {...item} />
        {pending_approvals_count > 1 && (
          <span class="badge attention">{pending_approvals_count}</span>
        )}
      </td>
      <td class="model-cell clip" title={model}>{model}</td>
      <td class="number cost-cell">{costText(item)}</td>
      <td class="number time-cell">{last_event_at !== "" && <Ago at={last_event_at} />}</td>
      <td class="action-cell">
        <SessionMenu item={item} />
      </td>
    </tr>
  );
}
