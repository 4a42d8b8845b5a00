import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { useApp } from "../app.ts";
import { costText, count } from "../format.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/choice.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Pending } from "../ui/states.tsx";
import { useKept } from "../ui/use_kept.ts";
import { Chart } from "./chart.tsx";
import { type By, GroupTable } from "./group_table.tsx";
import { LINES_MAX } from "./line_sample.tsx";
import {
  type Breakdown,
  type Metric,
  type RangeName,
  RANGES,
  type Series,
  seriesOf,
  sinceOf,
  startOf,
  timeZone,
} from "./range.ts";
import { TimeTable } from "./time_table.tsx";

/** An answer, and what it answers. */
interface Found {
  breakdown: Breakdown;
  range: RangeName;
  by: By;
  /** When it was asked, to the bucket. */
  now: number;
}

/** Time passes also where nothing is spent. */
const EVERY_MS = 15_000;
const GROUPS_MAX = 50;

export default function Cost() {
  const app = useApp();
  const { client } = app;
  const range = useKept<RangeName>("range", "month");
  const by = useKept<By>("by", "session");
  /** A model or a directory whose costs alone are shown. */
  const only_of = useKept<"model" | "workdir">("only_of", "model");
  const only = useKept<string>("only", "");
  const metric = useKept<Metric>("metric", "usd");
  const as_table = useSignal(false);
  const live = useLive<Found>({
    async ask() {
      const name = range.peek();
      const { bucket } = RANGES[name];
      const now = startOf(RANGES[name], Date.now());
      const since = sinceOf(RANGES[name], now);
      const group = by.peek();
      const within = only.peek() === "" ? {} : { [only_of.peek()]: only.peek() };
      const wanted = {
        by: group,
        bucket,
        since,
        time_zone: timeZone(),
        limit: GROUPS_MAX,
        ...within,
      };
      const breakdown = await client.ask("cost.breakdown", wanted);
      return { breakdown, range: name, by: group, now };
    },
    types: ["cost.tick"],
    every_ms: EVERY_MS,
  });
  const found = live.value.value;
  return (
    <Page title="Cost" class="cost" of={live}>
      <div class="toolbar">
        <Choice
          label="Time"
          value={range}
          options={Object.entries(RANGES).map(([name, { word }]) => [name as RangeName, word])}
          onChange={() => live.refresh()}
        />
        <Choice
          label="By"
          value={by}
          options={[["session", "Session"], ["model", "Model"], ["workdir", "Directory"]]}
          onChange={() => live.refresh()}
        />
        <Choice label="Show" value={metric} options={[["usd", "Dollars"], ["tokens", "Tokens"]]} />
        {only.value !== "" && (
          <Button
            icon="close"
            label={`Only ${only.value}: show all again`}
            onClick={() => {
              by.value = only_of.peek();
              only.value = "";
              return live.refresh();
            }}
          >
            Only {only.value}
          </Button>
        )}
      </div>
      {found === undefined
        ? <Pending of={live} lines={6} label="Loading costs" />
        : found.breakdown.groups.length === 0
        ? (
          <Empty icon="cost" title="No costs in this period">
            <p>
              This page shows what models cost, by session, model and directory, as a plot and a
              table. It begins with the first answer of a model.
            </p>
            <Button tone="primary" icon="plus" onClick={() => app.compose()}>New session</Button>
          </Empty>
        )
        : (
          <>
            <Totals total={found.breakdown.total} />
            <Lines found={found} metric={metric.value} as_table={as_table} />
            <GroupTable
              breakdown={found.breakdown}
              by={found.by}
              metric={metric.value}
              onOpen={(key) => {
                only_of.value = found.by === "workdir" ? "workdir" : "model";
                only.value = key;
                by.value = "session";
                live.refresh();
              }}
            />
          </>
        )}
    </Page>
  );
}

function Totals({ total }: { total: Breakdown["total"] }) {
  const figures = [
    ["Cost", costText({ cost_usd: total.usd, unpriced: total.unpriced })],
    ["Tokens in", count(total.tokens_in)],
    ["Cached", count(total.tokens_cached)],
    ["Tokens out", count(total.tokens_out)],
  ];
  return (
    <dl class="figures totals">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface LinesProps {
  found: Found;
  metric: Metric;
  as_table: Signal<boolean>;
}

/** The costs over time, drawn or as a table. */
function Lines({ found, metric, as_table }: LinesProps) {
  const { breakdown: { groups }, range, now } = found;
  const drawn = groups.slice(0, LINES_MAX);
  const series: Series = useMemo(
    () => seriesOf(drawn, RANGES[range], metric, now),
    [found, metric],
  );
  const names = drawn.map(({ key, title }) => title ?? key);
  const what = metric === "usd" ? "Dollars" : "Tokens";
  const label = `${what} over time, ${RANGES[range].word.toLowerCase()}`;
  return (
    <section class="panel" aria-labelledby="lines-heading">
      <header class="panel-head">
        <h2 id="lines-heading">{what} over time</h2>
        <Button aria-pressed={as_table.value} onClick={() => as_table.value = !as_table.value}>
          {as_table.value ? "Show as plot" : "Show as table"}
        </Button>
      </header>
      {as_table.value
        ? <TimeTable series={series} names={names} metric={metric} label={label} />
        : <Chart series={series} names={names} metric={metric} label={label} />}
      {groups.length > drawn.length && (
        <p class="hint">The {drawn.length} dearest are shown; all are in the table below.</p>
      )}
    </section>
  );
}
