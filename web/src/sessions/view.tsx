import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { usd } from "../format.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Failed, Loading } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { CreateSession } from "./create.tsx";
import type { SessionItem } from "./list.ts";
import { StateChip } from "./state_chip.tsx";

export default function Sessions() {
  const { sessions } = useApp();
  const creating = useSignal(false);
  const filter = useSignal("");
  const items = sessions.items.value;
  return (
    <Page
      title="Sessions"
      actions={
        <Button tone="primary" icon="plus" onClick={() => creating.value = true}>
          New session
        </Button>
      }
    >
      <div class="toolbar">
        <label class="search-box">
          <Icon name="search" />
          <span class="visually-hidden">Filter sessions</span>
          <input
            type="search"
            placeholder="Filter sessions"
            value={filter}
            onInput={({ currentTarget }) => filter.value = currentTarget.value}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={sessions.with_ended}
            onChange={({ currentTarget }) => {
              sessions.with_ended.value = currentTarget.checked;
              sessions.refresh();
            }}
          />
          <span>Show ended</span>
        </label>
      </div>
      {items === undefined
        ? sessions.error.value === undefined
          ? <Loading lines={6} label="Loading sessions" />
          : <Failed message={sessions.error.value} onRetry={() => sessions.refresh()} />
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
  const text = `${title}\n${workdir}\n${model}\n${id}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

interface TableProps {
  items: readonly SessionItem[];
  filtered: boolean;
  onCreate(): void;
}

function SessionTable({ items, filtered, onCreate }: TableProps) {
  if (items.length === 0) {
    return filtered
      ? <Empty icon="search" title="No session fits the filter" />
      : (
        <Empty icon="sessions" title="No sessions yet">
          <p>A session is an agent that works in one of your directories.</p>
          <Button tone="primary" icon="plus" onClick={onCreate}>New session</Button>
        </Empty>
      );
  }
  return (
    <table class="list-table session-table">
      <caption class="visually-hidden">Sessions, the one that changed last first</caption>
      <thead>
        <tr>
          <th scope="col">Session</th>
          <th scope="col">State</th>
          <th scope="col">Model</th>
          <th scope="col" class="number">Cost</th>
          <th scope="col" class="number">Last event</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => <Row key={item.id} item={item} />)}
      </tbody>
    </table>
  );
}

function Row({ item }: { item: SessionItem }) {
  const { id, title, workdir, model, cost_usd, last_event_at, pending_approvals } = item;
  return (
    <tr>
      <th scope="row">
        <a class="row-link" href={`/sessions/${id}`}>{title}</a>
        <span class="path clip" title={workdir}>
          <bdi>{workdir}</bdi>
        </span>
      </th>
      <td class="state-cell">
        <StateChip {...item} />
        {pending_approvals > 1 && <span class="badge attention">{pending_approvals}</span>}
      </td>
      <td class="model-cell clip" title={model}>{model}</td>
      <td class="number cost-cell">{usd(cost_usd)}</td>
      <td class="number time-cell">{last_event_at !== "" && <Ago at={last_event_at} />}</td>
    </tr>
  );
}
