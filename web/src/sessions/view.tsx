import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { costText } from "../format.ts";
import { Button } from "../ui/button.tsx";
import { Check } from "../ui/check.tsx";
import { ListTable } from "../ui/list_table.tsx";
import { Page } from "../ui/page.tsx";
import { Path } from "../ui/path.tsx";
import { hasWords, SearchBox } from "../ui/search_box.tsx";
import { Empty, Pending } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { useKept } from "../ui/use_kept.ts";
import { CreateSession } from "./create.tsx";
import type { SessionItem } from "./list.ts";
import { StateChip } from "./state_chip.tsx";

export default function Sessions() {
  const { sessions } = useApp();
  const creating = useSignal(false);
  const filter = useKept("filter", "");
  const items = sessions.items.value;
  const refresh = () => void sessions.refresh();
  return (
    <Page
      title="Sessions"
      of={sessions.live}
      actions={
        <Button tone="primary" icon="plus" onClick={() => creating.value = true}>
          New session
        </Button>
      }
    >
      <div class="toolbar">
        <SearchBox label="Filter sessions" value={filter} />
        <Check label="Show ended" value={sessions.with_ended} onChange={refresh} />
        <Check label="Show archived" value={sessions.with_archived} onChange={refresh} />
      </div>
      {items === undefined
        ? <Pending of={sessions.live} lines={6} label="Loading sessions" />
        : (
          <SessionTable
            items={items.filter((it) => fits(it, filter.value))}
            filtered={filter.value !== ""}
            onCreate={() => creating.value = true}
          />
        )}
      {creating.value && <CreateSession onClose={() => creating.value = false} />}
    </Page>
  );
}

function fits({ title, workdir, model, id }: SessionItem, filter: string): boolean {
  return hasWords(filter, [title, workdir, model, id]);
}

interface TableProps {
  items: readonly SessionItem[];
  filtered: boolean;
  onCreate(): void;
}

function SessionTable({ items, filtered, onCreate }: TableProps) {
  if (items.length === 0) {
    return filtered
      ? <Empty icon="search" title="No sessions match the filter" />
      : (
        <Empty icon="sessions" title="No sessions yet">
          <p>A session is an agent that works in one of your directories.</p>
          <Button tone="primary" icon="plus" onClick={onCreate}>New session</Button>
        </Empty>
      );
  }
  return (
    <ListTable
      class="session-table"
      caption="Sessions, pinned ones first, then most recently changed first"
      columns={["Session", "State", "Model", { number: "Cost" }, { number: "Last event" }]}
    >
      {items.map((item) => <Row key={item.id} item={item} />)}
    </ListTable>
  );
}

function Row({ item }: { item: SessionItem }) {
  const { id, title, workdir, model, last_event_at, pending_approvals_count, pinned, archived } =
    item;
  return (
    <tr>
      <th scope="row">
        <a class="row-link" href={`/sessions/${id}`} dir="auto">{title}</a>
        {pinned && <span class="badge">Pinned</span>}
        {archived && <span class="badge">Archived</span>}
        <Path path={workdir} />
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
    </tr>
  );
}
