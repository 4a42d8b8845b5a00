import { type Signal, useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { usd } from "../format.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Failed, Loading } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { CancelMission } from "./cancel.tsx";
import { CreateMission } from "./create.tsx";
import { Progress } from "./progress.tsx";
import { STATUS, StatusChip } from "./status_chip.tsx";

type Missions = Result<"mission.list">;
type MissionItem = Missions["missions"][number];
type Status = MissionItem["status"];

const STATUSES: readonly Status[] = ["running", "completed", "failed", "cancelled"];
const PAGE = 100;
const PAGES_MAX = 10;
/** What missions cost is told by no event of theirs. */
const EVERY_MS = 15_000;

export default function Missions() {
  const { client } = useApp();
  const status = useSignal<Status | "">("");
  const filter = useSignal("");
  const pages = useSignal(1);
  const creating = useSignal(false);
  const live = useLive<Missions>({
    ask: () =>
      client.ask("mission.list", {
        limit: pages.peek() * PAGE,
        status: status.peek() || undefined,
      }),
    types: ["mission.", "descent."],
    every_ms: EVERY_MS,
  });
  const found = live.value.value;
  const filtered = filter.value !== "" || status.value !== "";
  return (
    <Page
      title="Missions"
      actions={
        <Button tone="primary" icon="plus" onClick={() => creating.value = true}>
          New mission
        </Button>
      }
    >
      <div class="toolbar">
        <label class="search-box">
          <Icon name="search" />
          <span class="visually-hidden">Filter missions</span>
          <input
            type="search"
            placeholder="Filter missions"
            value={filter}
            onInput={({ currentTarget }) => filter.value = currentTarget.value}
          />
        </label>
        <StatusFilter
          status={status}
          onChange={() => {
            pages.value = 1;
            live.refresh();
          }}
        />
      </div>
      {found === undefined
        ? live.error.value === undefined
          ? <Loading lines={6} label="Loading missions" />
          : <Failed message={live.error.value} onRetry={() => live.refresh()} />
        : (
          <>
            <MissionTable
              items={found.missions.filter((it) => fits(it, filter.value))}
              filtered={filtered}
              onCreate={() => creating.value = true}
              onChanged={() => live.refresh()}
            />
            {found.next_cursor !== undefined && pages.value < PAGES_MAX && (
              <div class="more">
                <Button
                  onClick={() => {
                    pages.value++;
                    return live.refresh();
                  }}
                >
                  Show older
                </Button>
              </div>
            )}
          </>
        )}
      {creating.value && <CreateMission onClose={() => creating.value = false} />}
    </Page>
  );
}

function StatusFilter({ status, onChange }: { status: Signal<Status | "">; onChange(): void }) {
  return (
    <label class="choice">
      <span>State</span>
      <select
        value={status}
        onChange={({ currentTarget }) => {
          status.value = currentTarget.value as Status | "";
          onChange();
        }}
      >
        <option value="">All</option>
        {STATUSES.map((it) => <option key={it} value={it}>{STATUS[it].word}</option>)}
      </select>
    </label>
  );
}

function fits({ name, workdir, mission_id }: MissionItem, filter: string): boolean {
  const text = `${name}\n${workdir}\n${mission_id}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

interface TableProps {
  items: readonly MissionItem[];
  filtered: boolean;
  onCreate(): void;
  onChanged(): Promise<void>;
}

function MissionTable({ items, filtered, onCreate, onChanged }: TableProps) {
  const cancelling = useSignal<MissionItem | undefined>(undefined);
  if (items.length === 0) {
    return filtered
      ? <Empty icon="search" title="No mission fits the filter" />
      : (
        <Empty icon="missions" title="No missions yet">
          <p>
            A mission is a piece of work in tasks that agents carry out side by side, done when its
            acceptance criteria hold.
          </p>
          <Button tone="primary" icon="plus" onClick={onCreate}>New mission</Button>
        </Empty>
      );
  }
  return (
    <>
      <table class="list-table mission-table">
        <caption class="visually-hidden">Missions, the newest first</caption>
        <thead>
          <tr>
            <th scope="col">Mission</th>
            <th scope="col">State</th>
            <th scope="col">Progress</th>
            <th scope="col" class="number">Cost</th>
            <th scope="col" class="number">Started</th>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <Row
              key={item.mission_id}
              item={item}
              onCancel={() => cancelling.value = item}
            />
          ))}
        </tbody>
      </table>
      {cancelling.value && (
        <CancelMission
          mission={cancelling.value}
          onDone={onChanged}
          onClose={() => cancelling.value = undefined}
        />
      )}
    </>
  );
}

function Row({ item, onCancel }: { item: MissionItem; onCancel(): void }) {
  const { mission_id, name, workdir, status, cost_usd, created_at } = item;
  return (
    <tr>
      <th scope="row">
        <a class="row-link" href={`/missions/${mission_id}`}>{name}</a>
        <span class="path clip" title={workdir}>
          <bdi>{workdir}</bdi>
        </span>
      </th>
      <td>
        <StatusChip status={status} />
      </td>
      <td class="progress-cell">
        <Progress what="tasks" done={item.tasks_completed} all={item.tasks_total} />
        <Progress what="criteria" done={item.criteria_passed} all={item.criteria_total} />
      </td>
      <td class="number cost-cell">{usd(cost_usd)}</td>
      <td class="number time-cell">
        <Ago at={created_at} />
      </td>
      <td class="action-cell">
        {status === "running" && (
          <Button label={`Cancel mission ${name}`} icon="stop" tone="quiet" onClick={onCancel} />
        )}
      </td>
    </tr>
  );
}
