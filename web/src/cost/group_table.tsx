import { costText, count } from "../format.ts";
import type { Params } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Path } from "../ui/path.tsx";
import { LINES_MAX, LineSample } from "./line_sample.tsx";
import { amountOf, type Breakdown, type Group, type Metric } from "./range.ts";

export type By = Params<"cost.breakdown">["by"];

/** What is grouped, in words. */
const WORDS: Record<By, [one: string, all: string]> = {
  session: ["Session", "Sessions"],
  model: ["Model", "Models"],
  workdir: ["Directory", "Directories"],
};

interface GroupTableProps {
  breakdown: Breakdown;
  by: By;
  metric: Metric;
  /** Shows the sessions of a group. */
  onOpen(key: string): void;
}

/** What each group cost, the dearest first, with a bar; the plot's samples stand here. */
export function GroupTable({ breakdown: { groups, other }, by, metric, onOpen }: GroupTableProps) {
  const [one, all] = WORDS[by];
  const most = Math.max(...groups.map((it) => amountOf(it, metric)));
  return (
    <section class="panel" aria-labelledby="groups-heading">
      <h2 id="groups-heading">{all}</h2>
      <table class="data-table group-table">
        <caption class="visually-hidden">Cost of each, most expensive first</caption>
        <thead>
          <tr>
            <th scope="col">{one}</th>
            <th scope="col" class="number">Cost</th>
            <th scope="col" class="number">Tokens in</th>
            <th scope="col" class="number cached-cell">Cached</th>
            <th scope="col" class="number">Tokens out</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group, n) => (
            <tr key={group.key}>
              <th scope="row">
                <span class="group-name">
                  {n < LINES_MAX && <LineSample n={n} />}
                  <Name group={group} by={by} onOpen={onOpen} />
                </span>
                {amountOf(group, metric) > 0 && (
                  <span
                    class="group-bar"
                    aria-hidden="true"
                    style={{ inlineSize: `${100 * amountOf(group, metric) / most}%` }}
                  />
                )}
              </th>
              <Amounts {...group} />
            </tr>
          ))}
          {other && (
            <tr>
              <th scope="row">All others</th>
              <Amounts {...other} />
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

interface NameProps extends Pick<GroupTableProps, "by" | "onOpen"> {
  group: Group;
}

function Name({ group: { key, title }, by, onOpen }: NameProps) {
  if (title === undefined) {
    return (
      <Button tone="quiet" title={`Show the sessions of ${key}`} onClick={() => onOpen(key)}>
        {by === "workdir" ? <Path path={key} /> : <span class="clip">{key}</span>}
      </Button>
    );
  }
  return <a class="clip" href={`/sessions/${key}`} title={title}>{title}</a>;
}

function Amounts(spent: Breakdown["total"]) {
  return (
    <>
      <td class="number">{costText({ cost_usd: spent.usd, unpriced: spent.unpriced })}</td>
      <td class="number">{count(spent.tokens_in)}</td>
      <td class="number cached-cell">{count(spent.tokens_cached)}</td>
      <td class="number">{count(spent.tokens_out)}</td>
    </>
  );
}
