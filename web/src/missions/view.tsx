import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { usd } from "../format.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/choice.tsx";
import { ListTable } from "../ui/list_table.tsx";
import { Page } from "../ui/page.tsx";
import { Path } from "../ui/path.tsx";
import { hasWords, SearchBox } from "../ui/search_box.tsx";
import { ShowOlder } from "../ui/show_older.tsx";
import { Empty, Pending } from "../ui/states.tsx";
import { Ago } from "../ui/time.tsx";
import { useKept } from "../ui/use_kept.ts";
import { CancelMission } from "./cancel.tsx";
import { CreateMission } from "./create.tsx";
import { Progress } from "./progress.tsx";
import { STATUS, StatusChip } from "./status_chip.tsx";

type Missions = Result<"mission.list">;
type MissionItem = Missions["missions"][number];
type Status = MissionItem["status"];

const STATUSES: readonly Status[] = ["running", "completed", "failed", "cancelled"];
const STATUS_OPTIONS: [Status | "", string][] = [
  ["", "All"],
  ...STATUSES.map((it): [Status, string] => [it, STATUS[it].word]),
];
const PAGE = 100;
const PAGES_MAX = 10;
/** What missions cost is told by no event of theirs. */
const EVERY_MS = 15_000;

export default function Missions() {
  const { client } = useApp();
  const status = useKept<Status | "">("status", "");
  const filter = useKept("filter", "");
  const pages = useKept<number>("pages", 1);
  const seed = useKept("seed", "");
  const creating = useSignal(seed.peek() !== "");
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
      of={live}
      actions={
        <Button tone="primary" icon="plus" onClick={() => creating.value = true}>
          New mission
        </Button>
      }
    >
      <div class="toolbar">
        <SearchBox label="Filter missions" value={filter} />
        <Choice
          label="State"
          value={status}
          options={STATUS_OPTIONS}
          onChange={() => {
            pages.value = 1;
            live.refresh();
          }}
        />
      </div>
      {found === undefined ? <Pending of={live} lines={6} label="Loading missions" /> : (
        <>
          <MissionTable
            items={found.missions.filter((it) => fits(it, filter.value))}
            filtered={filtered}
            onCreate={() => creating.value = true}
            onChanged={() => live.refresh()}
          />
          {found.next_cursor !== undefined && pages.value < PAGES_MAX && (
            <ShowOlder
              onClick={() => {
                pages.value++;
                return live.refresh();
              }}
            />
          )}
        </>
      )}
      {creating.value && (
        <CreateMission
          seed={seed.value === "" ? undefined : JSON.parse(seed.value)}
          onClose={() => {
            creating.value = false;
            seed.value = "";
          }}
        />
      )}
    </Page>
  );
}

function fits({ name, workdir, mission_id }: MissionItem, filter: string): boolean {
  return hasWords(filter, [name, workdir, mission_id]);
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
      ? <Empty icon="search" title="No missions match the filter" />
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
      <ListTable
        class="mission-table"
        caption="Missions, newest first"
        columns={["Mission", "State", "Progress", { number: "Cost" }, { number: "Started" }]}
        actions
      >
        {items.map((item) => (
          <Row
            key={item.mission_id}
            item={item}
            onCancel={() => cancelling.value = item}
          />
        ))}
      </ListTable>
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
        <Path path={workdir} />
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
